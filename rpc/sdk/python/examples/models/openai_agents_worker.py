"""A worker around OpenAI's Agents SDK (pip install openai-agents).

It is written after the public documentation of that package and parsed by the tests; it was not run with it.
"""

import vigil
from agents import Agent, Runner
from openai import APIConnectionError, InternalServerError, RateLimitError

assistant = Agent(name="Assistant", instructions="You do one task of a fleet and answer with its result.")


@vigil.worker("web/agent", retry_on=(APIConnectionError, InternalServerError, RateLimitError))
async def agent(job):
    await job.progress("asks the model", expect=300)
    result = await Runner.run(assistant, job.text)
    used = result.context_wrapper.usage
    await job.usage(input=used.input_tokens, output=used.output_tokens)
    return str(result.final_output)


vigil.run()
