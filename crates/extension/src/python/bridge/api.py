# ---- Our own functions: `from tracelens import model, work, prod, element_size, fail` ----

class Answer(dict):
    """What `model` and `work` return."""


def model(family, category=None, backward=True, backward_flops=None, backward_bytes=None, **parameters):
    """A model of one of the built-in families, with its parameters by name."""
    return Answer(
        family=family, category=category, backward=bool(backward), line=caller_line(),
        backward_flops=plain(backward_flops, "backward_flops"), backward_bytes=plain(backward_bytes, "backward_bytes"),
        parameters={name: plain(value, name) for name, value in parameters.items()})


def work(category, flops=None, bytes=None, spec=None, backward_flops=None, backward_bytes=None, params=None):
    """Figures that the file computes itself."""
    return Answer(
        category=category, flops=plain(flops, "flops"), bytes=plain(bytes, "bytes"), spec=spec, line=caller_line(),
        backward_flops=plain(backward_flops, "backward_flops"), backward_bytes=plain(backward_bytes, "backward_bytes"),
        params=[[str(name), plain(value, name)] for name, value in (params or {}).items()])


def prod(numbers):
    """The product of numbers; 1 of none."""
    return math.prod(numbers)


def fail(reason):
    """States why a call has no figures."""
    raise Fail(str(reason))


SIZES = {}


def element_size(dtype):
    """Bytes of an element of a type as PyTorch names it; a half for four bits."""
    if dtype not in SIZES:
        SIZES[dtype] = PIPE.ask("element_size", dtype)
    return SIZES[dtype]


# ---- Calls and events ----

def tuples(value):
    return tuple(tuples(item) for item in value) if isinstance(value, list) else value


class Event(dict):
    """An event under the names that PyTorch's profiler records, and under shorter ones: `event.dims` is
    `event["args"]["Input Dims"]` as tuples. An event of the tree fetches a value when it is first asked for."""

    # What fetches values: functions of the number of the event, by key. And the arguments as they were fetched.
    __slots__ = ("source", "recorded")

    @property
    def name(self):
        return self["name"]

    @property
    def args(self):
        return self["args"]

    def listed(self, key):
        return tuples(self["args"].get(key) or [])

    dims = property(lambda self: self.listed("Input Dims"))
    types = property(lambda self: self.listed("Input type"))
    strides = property(lambda self: self.listed("Input Strides"))
    concrete = property(lambda self: self.listed("Concrete Inputs"))
    kernels = property(lambda self: tuple(self.get("kernel_names", ())))
    annotation = property(lambda self: self.get("annotation"))
    forward = property(lambda self: self.get("forward"))
    id = property(lambda self: self["UID"])
    category = property(lambda self: self.get("cat"))
    is_gpu = property(lambda self: self.get("cat") in DEVICE_CATEGORIES)
    start_us = property(lambda self: self["ts"])
    duration_us = property(lambda self: self["dur"])
    sequence_number = property(lambda self: self["args"].get("Sequence number"))
    external_id = property(lambda self: self["args"].get("External id"))
    correlation = property(lambda self: self["args"].get("correlation"))

    def __getattr__(self, name):
        if name in Event.__slots__:
            return None
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError("an event has no %s; it has %s" % (name, ", ".join(EVENT_FIELDS)))

    def __missing__(self, key):
        of_key = self.source and self.source.get(key)
        value = of_key(self["UID"]) if of_key else ABSENT
        if value is ABSENT:
            raise KeyError(key)
        if key == "args":
            self.recorded = dict(value)
        self[key] = value
        return value

    def get(self, key, default=None):
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key):
        return self.get(key, ABSENT) is not ABSENT

    def __bool__(self):
        return True

    def __reduce__(self):
        return dict, (dict(self),)

    def complete(self):
        """Fetches all values, for what looks at the event as a whole."""
        if self.source is not None:
            for key in TREE_KEYS:
                key in self
            self.source = None
        return self


def complete_first(name):
    of_dict = getattr(dict, name)
    return lambda self, *given: of_dict(self.complete(), *given)


for name in ("__iter__", "__len__", "__eq__", "__ne__", "__repr__", "__delitem__", "keys", "items", "values", "copy",
             "pop", "popitem", "setdefault"):
    setattr(Event, name, complete_first(name))

ABSENT = object()
DEVICE_CATEGORIES = frozenset(["kernel", "gpu_memcpy", "gpu_memset"])
EVENT_FIELDS = [name for name, value in vars(Event).items() if isinstance(value, property)]
LISTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
TREE_KEYS = ("ph", "name", "cat", "pid", "tid", "ts", "dur", "args", "parent", "children", "gpu_events", "non_gpu_path",
             "bwd_events", "fwd_event")


def call_event(call):
    """A call of an operator, as models see it."""
    args = {key: value for key, value in zip(LISTS, call["lists"]) if value is not None}
    args.update(call["args"])
    event = Event(name=call["name"], cat="cpu_op", args=args, kernel_names=call["kernels"],
                  kernel_details=[{"name": name} for name in call["kernels"]])
    if call["annotation"] is not None:
        event["annotation"] = call["annotation"]
    event["forward"] = call_event(call["forward"]) if call["forward"] else None
    return event


