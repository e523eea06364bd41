// Package usage is `vigil usage` and `vigil budget`: what AI tools tell that they have used, and how budgets
// stand.
package usage
