"""Maps all traces below a folder as Ray tasks: python map_ray.py TRACES TABLES"""

import pathlib
import subprocess
import sys

import ray


@ray.remote(num_cpus=2, max_retries=2)
def map_trace(trace: str, tables: str) -> None:
    subprocess.run(["tracelens", "map", trace, "--quiet", "--jobs", "1", "--out", tables], check=True)


def main() -> None:
    traces, tables = sys.argv[1:3]
    ray.init()
    found = sorted(str(path) for path in pathlib.Path(traces).rglob("*.json*"))
    ray.get([map_trace.remote(trace, tables) for trace in found])


if __name__ == "__main__":
    main()
