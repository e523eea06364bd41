package code

import "vigil/rpc/gen/vigilv1"

// MaxMessage is the largest message in either direction, in bytes: a Batch, or a page of tasks.
const MaxMessage = 16 << 20

// Sizes of requests in bytes. Every field has a limit of its own beside them, which its error
// names; these bound what a server decodes before it can look at fields.
const (
	// usual fits names, numbers, notes, a mail and maps of labels or settings.
	usual = 128 << 10
	// long fits what becomes one command of the log, a part of a stream, or what a host tells.
	long = 1 << 20
)

// MaxRequest is the largest message that the caller of a method may send, in bytes; the full name
// is as in /vigil.v1.Work/Join.
func MaxRequest(method string) int {
	if size, ok := sizes[method]; ok {
		return size
	}
	return usual
}

// sizes has the methods whose requests are longer than usual.
var sizes = map[string]int{
	vigilv1.Fleet_ApplyRoom_FullMethodName:         long,
	vigilv1.Fleet_CreateTask_FullMethodName:        long,
	vigilv1.Work_CompleteTask_FullMethodName:       long,
	vigilv1.Work_FailTask_FullMethodName:           long,
	vigilv1.Work_Handoff_FullMethodName:            long,
	vigilv1.Work_Next_FullMethodName:               long,
	vigilv1.Overseers_HandOver_FullMethodName:      long,
	vigilv1.Cluster_ReportViews_FullMethodName:     long,
	vigilv1.Cluster_RestoreSnapshot_FullMethodName: long,
	// What has happened on a host is cut where it is too long, and not refused.
	vigilv1.HostAgent_Register_FullMethodName:        long,
	vigilv1.HostAgent_Stream_FullMethodName:          long,
	vigilv1.HostAgent_ReportExit_FullMethodName:      long,
	vigilv1.HostAgent_ReportStuck_FullMethodName:     long,
	vigilv1.HostAgent_ReportScreen_FullMethodName:    long,
	vigilv1.HostAgent_ReportTerminals_FullMethodName: long,

	vigilv1.Work_Beat_FullMethodName:  8 << 20, // 65,536 beats of agents with tokens
	vigilv1.Work_Batch_FullMethodName: MaxMessage,

	vigilv1.Calls_Carry_FullMethodName: MaxMessage, // of many; each has the bound of its own
}
