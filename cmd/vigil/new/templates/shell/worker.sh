#!/bin/sh
# The first line of a task names it, the third is the first of its text. What the task says stays in files: arguments
# could be read by everybody on the host.
while :; do
	vigil wait-for-task --start >task.txt || exit
	tail -n +3 task.txt | wc -w >result.txt || exit # the work
	vigil task complete --result-file result.txt || exit
done
