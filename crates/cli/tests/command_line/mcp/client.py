"""The server, asked by the official client of the protocol: client.py TRACELENS TESTDATA."""

import asyncio
import sys

from mcp import Client, StdioServerParameters

TRACE = "generated/cuda_training_step.json.gz"


async def ask(mode: str, program: str, root: str) -> None:
    server = StdioServerParameters(command=program, args=["mcp", "--root", root])
    async with Client(server, mode=mode) as client:
        tools = await client.list_tools()
        names = {tool.name for tool in tools.tools}
        assert {"open", "table", "why", "diff", "gate"} <= names, names

        told = []

        async def progress(done, total, message):
            told.append((done, total))

        opened = await client.call_tool("open", {"path": TRACE}, progress_callback=progress)
        assert not opened.is_error, opened
        document = opened.structured_content
        assert document["schema"] == "tracelens.answer/1.0"
        handle = document["result"]["trace"]

        rows = await client.call_tool("table", {"trace": handle, "name": "ops_summary", "top": 3})
        assert rows.structured_content["tables"][0]["rows_returned"] == 3
        assert rows.content[0].text.startswith("name\t"), rows.content

        wrong = await client.call_tool("table", {"trace": handle, "name": "ops_sumary"})
        assert wrong.is_error and wrong.structured_content["error"]["code"] == "unknown-table"

        # All are answered, and all alike.
        asked = [client.call_tool("why", {"trace": handle, "target": "aten::mm"}) for _ in range(200)]
        answers = await asyncio.gather(*asked)
        assert all(answer.structured_content == answers[0].structured_content for answer in answers)


for mode in ("legacy", "auto"):
    asyncio.run(ask(mode, *sys.argv[1:3]))
    print(mode, "ok")
