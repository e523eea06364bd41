package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// exampleCluster gives the examples something to talk to.
func exampleCluster() (cfg client.Config, stop func()) {
	f := newFake("a:7420", "b:7420", "c:7420")
	return client.Config{Addrs: []string{"a:7420", "b:7420", "c:7420"}, Dial: f.dial}, f.stop
}

func Example() {
	cfg, stop := exampleCluster() // usually: client.Config{Addrs: []string{"a:7420", ...}}
	defer stop()
	c, err := client.Open(cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	fleet := vigilv1.NewFleetClient(c)
	task, err := fleet.CreateTask(context.Background(), &vigilv1.CreateTaskRequest{
		Room: "web", Role: "builder", Title: "build the site"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(task.GetId(), task.GetState())
	// Output: 1 PENDING
}

func ExampleWork() {
	cfg, stop := exampleCluster()
	defer stop()
	c, err := client.Open(cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fleet := vigilv1.NewFleetClient(c)
	if _, err = fleet.CreateTask(context.Background(), &vigilv1.CreateTaskRequest{
		Room: "web", Role: "builder", Title: "shout"}); err != nil {
		log.Fatal(err)
	}

	// An agent that works until its context ends, for instance by a signal.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err = client.Work(ctx, c, client.WorkerConfig{Agent: "web/builder"},
		func(ctx context.Context, job *client.Job) (string, error) {
			defer cancel()
			fmt.Println("working on", job.Task.GetTitle())
			return strings.ToUpper(job.Task.GetTitle()), nil
		})
	if err != nil {
		log.Fatal(err)
	}
	task, err := fleet.GetTask(context.Background(), &vigilv1.GetTaskRequest{Task: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(task.GetState(), task.GetResult())
	// Output:
	// working on shout
	// COMPLETED SHOUT
}

func ExampleJoin() {
	cfg, stop := exampleCluster()
	defer stop()
	c, err := client.Open(cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	worker, err := client.Join(context.Background(), c, client.WorkerConfig{Agent: "web/builder"})
	if err != nil {
		log.Fatal(err)
	}
	// Leave on every way out, with a context of its own.
	defer worker.Leave(context.Background(), "done")

	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	job, err := worker.Wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		fmt.Println("no task for life", client.FormatIncarnation(worker.Incarnation()), "of", worker.Agent())
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.Task.GetTitle())
	// Output: no task for life 1 of web/builder
}

func ExampleError() {
	cfg, stop := exampleCluster()
	defer stop()
	c, err := client.Open(cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	_, err = vigilv1.NewFleetClient(c).GetTask(context.Background(), &vigilv1.GetTaskRequest{Task: 12})
	switch {
	case errors.Is(err, client.ErrNotFound):
		fmt.Println("there is no such task")
	case errors.Is(err, client.ErrNoLeader):
		fmt.Println("the cluster has no leader at the moment")
	case err != nil:
		fmt.Println(client.From(err).Code, err)
	}
	// Output: there is no such task
}

func ExampleClient_Invoke_batch() {
	cfg, stop := exampleCluster()
	defer stop()
	c, err := client.Open(cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	batch := &vigilv1.BatchRequest{}
	for _, room := range []string{"web", "", "web"} {
		batch.Writes = append(batch.Writes, &vigilv1.Write{Op: &vigilv1.Write_CreateTask{
			CreateTask: &vigilv1.CreateTaskRequest{Room: room, Role: "builder", Title: "one of many"}}})
	}
	answer, err := vigilv1.NewWorkClient(c).Batch(context.Background(), batch)
	if err != nil {
		log.Fatal(err)
	}
	for i, r := range answer.GetResults() {
		if err := client.FromInfo(r.GetError()); err != nil {
			fmt.Println(i, "refused:", errors.Is(err, client.ErrInvalid))
			continue
		}
		fmt.Println(i, "is task", r.GetTask())
	}
	// Output:
	// 0 is task 1
	// 1 refused: true
	// 2 is task 2
}
