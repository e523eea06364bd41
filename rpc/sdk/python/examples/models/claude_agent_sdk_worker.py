"""A worker around the Claude Agent SDK (pip install claude-agent-sdk). The conversation goes on in the next life.

It is written after the public documentation of that package and parsed by the tests; it was not run with it.
"""

import vigil
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query


@vigil.worker("web/agent")
async def agent(job):
    options = ClaudeAgentOptions(resume=job.resume or None, permission_mode="acceptEdits")
    result = ""
    # When a human cancels the task, or a newer life takes over, this coroutine is cancelled and the query with it.
    async for message in query(prompt=job.text, options=options):
        if isinstance(message, ResultMessage):
            result = message.result or ""
            await job.remember(message.session_id)
            await job.usage(cost=message.total_cost_usd or 0.0)
            if message.is_error:
                raise vigil.Retry(result or message.subtype)
        else:
            await job.progress(type(message).__name__)
    return result


vigil.run()
