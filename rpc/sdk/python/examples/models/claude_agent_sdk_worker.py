"""A worker around the Claude Agent SDK (pip install claude-agent-sdk). The conversation goes on in the next life.

It is written after the public documentation of that package and parsed by the tests; it was not run with it.
"""

import json

import vigil
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query


kept = None  # the conversation of this agent, and what it had cost at its last result; None: it has not looked yet


@vigil.worker("web/agent")
async def agent(job):
    global kept
    if kept is None:
        kept = json.loads(job.resume) if job.resume else [None, 0.0]
    session, spent = kept
    options = ClaudeAgentOptions(resume=session, permission_mode="acceptEdits")
    result = ""
    # When a human cancels the task, or a newer life takes over, this coroutine is cancelled and the query with it.
    async for message in query(prompt=job.text, options=options):
        if isinstance(message, ResultMessage):
            result = message.result or ""
            # The cost is that of the whole conversation, unless it began anew.
            total = message.total_cost_usd or 0.0
            await job.usage(cost=total - spent if total >= spent else total)
            if message.is_error:
                kept = [None, 0.0]  # the next attempt begins anew: this conversation may be on another host
                await job.remember("")
                raise vigil.Retry(result or message.subtype)
            kept = [message.session_id, total]
            await job.remember(json.dumps(kept))
        else:
            await job.progress(type(message).__name__)
    return result


vigil.run()
