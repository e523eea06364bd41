"""A worker around a graph of LangGraph (pip install langgraph) that stops to ask a human.

An interrupt() of the graph becomes a question in the inbox of vigil, and what a human sends resumes the graph. It is
written after the public documentation of that package and parsed by the tests; it was not run with it.
"""

from typing import TypedDict

import vigil
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt


class State(TypedDict):
    text: str
    answer: str


def review(state: State):
    return {"answer": interrupt("Is this right? " + state["text"])}


builder = StateGraph(State)
builder.add_node("review", review)
builder.add_edge(START, "review")
builder.add_edge("review", END)
graph = builder.compile(checkpointer=InMemorySaver())


@vigil.worker("web/agent")
async def agent(job):
    config = {"configurable": {"thread_id": f"{job.id}-{job.attempt}"}}
    state = await graph.ainvoke({"text": job.text, "answer": ""}, config)
    while state.get("__interrupt__"):
        answer = await job.ask(str(state["__interrupt__"][0].value))
        state = await graph.ainvoke(Command(resume=answer.body), config)
    return state["answer"]


vigil.run()
