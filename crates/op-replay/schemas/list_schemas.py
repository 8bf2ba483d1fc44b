"""Lists the schemas of PyTorch's operators in the form of aten.txt, from the registry of the installed PyTorch.

    python list_schemas.py > aten.txt

Of the namespace aten it leaves out what recordings do not show, or what a call cannot be told by:
- overloads that the dispatcher does not have (builtins of TorchScript);
- overloads that PyTorch generates from others (torch.Tag.generated);
- overloads with named dimensions, and operators of PyTorch's own tests.
Overloads of one operator stay in the order of the registry. What an operator returns is left out.
"""

import itertools

import torch


def is_listed(schema):
    overload = f".{schema.overload_name}" if schema.overload_name else ""
    if not torch._C._dispatch_has_kernel(schema.name + overload):
        return False
    packet = getattr(torch.ops.aten, schema.name.removeprefix("aten::"))
    if torch.Tag.generated in getattr(packet, schema.overload_name or "default").tags:
        return False
    return "Dimname" not in str(schema) and not schema.name.startswith("aten::_test_")


def main():
    schemas = [schema for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("aten::")]
    print(f"# PyTorch {torch.__version__.split('+')[0]}")
    by_name = sorted(schemas, key=lambda schema: schema.name)  # stable: keeps the order of overloads
    for _, overloads in itertools.groupby(filter(is_listed, by_name), key=lambda schema: schema.name):
        for schema in overloads:
            print(str(schema).rsplit(" -> ", 1)[0])


if __name__ == "__main__":
    main()
