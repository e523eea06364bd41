package noun

import "fmt"

// Plural says "1 task", "2 tasks"; many is for words that take more than an s, and for verbs: "mail
// waits", "mails wait".
func Plural[N ~int | ~int32 | ~int64 | ~uint32 | ~uint64](n N, one string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(many) > 0:
		return fmt.Sprintf("%d %s", n, many[0])
	}
	return fmt.Sprintf("%d %ss", n, one)
}
