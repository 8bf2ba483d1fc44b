"""Reduce what Nsight Compute wrote to a row for each kernel of each case: counters_by_case.py RAW.csv OUTPUT.csv

Columns: the case of operators.py, the kernel, its duration, operations of the matrix units, operations of the ordinary
units by width (an fma counts two; instructions for 16 bits work on two values at once, so what is counted there is a lower
bound), bytes read from and written to memory, and bytes that the multiprocessors read from and wrote to the second-level
cache.
"""

import csv
import sys

SECTOR = 32
MATRIX = "sm__ops_path_tensor_src_"


def rows(path):
    with open(path, newline="") as file:
        # The profiler's own lines and the line of units are no rows.
        lines = csv.DictReader(line for line in file if not line.startswith("=="))
        yield from (line for line in lines if line["ID"])


def case_of(row):
    """The innermost range: `PROCESS  "<default domain>:CASE:none:…"`."""
    ranges = row["thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"]
    return ranges.split('"')[1].split(":")[1]


def total(row, metric):
    return int(row[f"{metric}.sum"].replace(",", "").split(".")[0])


def arithmetic(row, width):
    instructions = {
        op: total(row, f"sm__sass_thread_inst_executed_op_{width}{op}_pred_on") for op in ("add", "mul", "fma")
    }
    return instructions["add"] + instructions["mul"] + 2 * instructions["fma"]


def reduced(row):
    matrix = [name.removesuffix(".sum") for name in row if name.startswith(MATRIX) and name.endswith(".sum")]
    return {
        "case": case_of(row),
        "kernel": row["Kernel Name"],
        "duration_ns": total(row, "gpu__time_duration"),
        "matrix_ops": sum(total(row, metric) for metric in matrix),
        "fp64_ops": arithmetic(row, "d"),
        "fp32_ops": arithmetic(row, "f"),
        "fp16_ops": arithmetic(row, "h"),
        "memory_read_bytes": total(row, "dram__bytes_read"),
        "memory_written_bytes": total(row, "dram__bytes_write"),
        "l2_read_bytes": total(row, "lts__t_sectors_srcunit_tex_op_read") * SECTOR,
        "l2_written_bytes": total(row, "lts__t_sectors_srcunit_tex_op_write") * SECTOR,
    }


def main(source, target):
    table = [reduced(row) for row in rows(source)]
    with open(target, "w", newline="") as file:
        writer = csv.DictWriter(file, table[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


if __name__ == "__main__":
    main(*sys.argv[1:])
