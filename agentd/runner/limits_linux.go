package runner

const limitsWork = true
