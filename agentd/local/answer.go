package local

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// isGRPC tells whether a call was made, and wants its answer, by gRPC.
func isGRPC(r *http.Request) bool {
	return r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// refuse answers a call with an error of the API, in the form in which it was made. The
// message is plain ASCII without "%".
func refuse(w http.ResponseWriter, r *http.Request, name, message string) {
	row, h := code.Of(name), w.Header()
	if !isGRPC(r) {
		h.Set("Content-Type", "application/json")
		h.Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(row.HTTP)
		// The reader has gone: nobody is left to tell.
		_ = json.NewEncoder(w).Encode(struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		}{name, message})
		return
	}
	h.Set("Content-Type", "application/grpc")
	h.Set("Grpc-Status", strconv.Itoa(int(row.GRPC)))
	h.Set("Grpc-Message", message)
	st, err := status.New(row.GRPC, message).WithDetails(&vigilv1.ErrorInfo{Code: name, Message: message})
	if err == nil {
		if text, err := proto.Marshal(st.Proto()); err == nil {
			h.Set("Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(text))
		}
	}
	w.WriteHeader(http.StatusOK)
}
