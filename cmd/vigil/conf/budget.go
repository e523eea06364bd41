package conf

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"vigil/rpc/gen/vigilv1"
)

// budgetFile bounds what is used within 24 hours; a key that is left out: no bound.
type budgetFile struct {
	Tokens amountValue `yaml:"tokens"`
	USD    amountValue `yaml:"usd"`
}

func (b *budgetFile) wire() *vigilv1.Budget {
	if b == nil || b.Tokens.n == 0 && b.USD.n == 0 {
		return nil
	}
	return &vigilv1.Budget{Tokens: uint64(b.Tokens.n), MicroUsd: uint64(math.Round(b.USD.n * 1e6))}
}

// amountValue is an amount such as 2M, 500k or 19.90.
type amountValue struct{ n float64 }

// UnmarshalYAML takes amounts up to a thousand billions.
func (v *amountValue) UnmarshalYAML(node ast.Node) error {
	text, err := scalar(node, "an amount like 2M or 20")
	if err != nil {
		return err
	}
	number, unit := strings.ReplaceAll(text, "_", ""), 1.0
	for suffix, of := range map[string]float64{"k": 1e3, "M": 1e6, "G": 1e9} {
		if rest, ok := strings.CutSuffix(number, suffix); ok {
			number, unit = rest, of
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if n *= unit; err != nil || !(n > 0) || n*1e6 > 1<<50 {
		return &valueError{node.GetToken(), fmt.Sprintf("%q is no amount: give one like 2M, 500k or 19.90, or leave it out "+
			"for none", text)}
	}
	v.n = n
	return nil
}
