BIN      = $(CURDIR)/.bin
# A count: with a time, Go 1.26 fails now and then at the end of it (golang/go#75804).
FUZZTIME = 2000x
FAULTS   = 500
SEED     = 1
TIME     = 5m
DAYS     = 30
HOURS    = 0
HEALTHY  = 168
SICK     = 24
NEMESIS  =
ROUNDS   = 3
LASTING  = 5s
HOSTS    = host,server_killed,leader_killed,server_paused,leader_paused_beyond_ttl,all_killed_for_ttls
OLDER    =

# The race detector makes tests slow and large. Only what serves, replicates and watches runs under it, and
# the simulated fleet, each for a short time: the state machine has no goroutine, commands have few, and the
# stand drives processes.
RACE = -race -short -timeout 20m
# A process with a race says so by its end, also where nobody reads what it prints, and none sleeps for a second
# before it ends.
GORACE = atexit_sleep_ms=0 halt_on_error=1
# Of these folders, the packages in which a goroutine begins or something is shared, tests included; the longest
# begin first. The SDKs' table starts programs of other languages; the Go client is raced in its own package.
LONGEST_RACED = ./cmd/vigil/serve ./rpc ./cluster
RACED = cluster rpc agentd cmd/vigil/serve cmd/vigil/mcp cmd/vigil/dev jepsen/sim
SHARES = \<go [A-Za-z_.]+\(|\.Go\(|\<chan\>|"sync|\.Parallel\(
# Tests of processes wait most of their time, and each holds one of the places of the go command meanwhile: so more
# packages than there are cores are compiled or tested at once, but where whole fleets run, one. vet is a step of its
# own.
more = go test -vet=off -p $(shell expr $$(getconf _NPROCESSORS_ONLN) + $(1))
# The packages whose tests start whole fleets.
FLEETS = ./jepsen/incidents ./cmd/vigil ./docs
# The packages whose Fuzz functions are run.
FUZZED = ./...

# protoc-gen-go, -grpc-gateway and -openapiv2 carry the versions of the libraries in go.mod.
GENERATORS = \
	google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12 \
	google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2 \
	github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway@v2.30.0 \
	github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv2@v2.30.0
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.DEFAULT_GOAL := help
.NOTPARALLEL:
# A version is the revision that wrote its heading into the changelog: tags may not travel.
older = $(if $(filter 0.%,$(OLDER)),$(shell git log --reverse --format=%h -S'## $(OLDER),' -- CHANGELOG.md | head -1),$(OLDER))

.PHONY: help run build test race fuzz generate web sdk ui screenshots platforms check fmt vet staticcheck generated bench peers jepsen upgrades year month detection incidents mutants hostfaults dist dist-test clean

help: ## print this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

run: ## run a whole fleet on this machine
	@echo "building vigil: some minutes the first time, seconds after that; then the fleet comes up"
	@go run ./cmd/vigil dev

build: ## build bin/vigil
	go build -trimpath -o bin/vigil ./cmd/vigil

test: ## run the tests; needs only Go
	@# Several tests build vigil, at the same time: what that compiles is compiled once, here.
	go build -tags stand -o /dev/null ./cmd/vigil && go build -o /dev/null ./cmd/vigil
	@# What starts whole fleets of processes runs alone, else their leaders lose their majorities for want of processor.
	go test -vet=off -p 1 -timeout 20m $(FLEETS) || failed=1; \
		$(call more,1) -timeout 20m $$(go list ./... | grep -vx $(FLEETS:./%=-e vigil/%)) || failed=1; \
		test -z "$$failed"

race: ## run the tests under the race detector; needs a C compiler
	GORACE='$(GORACE)' CGO_ENABLED=1 $(call more,2) $(RACE) $(LONGEST_RACED) $$(grep -rlE --include='*.go' --exclude-dir=sdk '$(SHARES)' $(RACED) | xargs -n 1 dirname | sed 's,^,./,' | sort -u)

fuzz: ## fuzz every Fuzz function of FUZZED (./...) with FUZZTIME (2000x) inputs
	@found=$$(go test -list '^Fuzz' $(FUZZED)) || { echo "$$found"; exit 1; }; \
	echo "$$found" | awk '/^Fuzz/ { f[n++] = $$1 } /^ok/ { while (n) print $$2, f[--n] }' | \
	while read -r pkg name; do \
		echo "$$pkg $$name"; \
		go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$pkg" </dev/null || exit 1; \
	done

generate: $(GENERATORS:%=.bin/installed/%) ## generate rpc/gen from rpc/proto, and what the SDKs know of it
	cd rpc && go run ./generate $(BIN) && go run ./openapi gen/openapi/vigil.swagger.json gen/openapi/vigil.openapi.json && \
		rm gen/openapi/vigil.swagger.json && go run ./sdk/generate

web: ## make rpc/web/assets of the sources of the page; fetches esbuild the first time
	cd rpc/web/build && go run .

sdk: ## make rpc/sdk/typescript/dist of its sources; needs node and npm
	cd rpc/sdk/typescript/build && npm ci --ignore-scripts --no-audit --no-fund
	cd rpc/sdk/typescript && rm -rf dist && build/node_modules/.bin/tsc -p .
	cd rpc && go run ./sdk/generate && go run ./sdk/generate seal sdk/typescript

ui: ## try every view and action of the page in a browser; needs chromium, node and npm
	VIGIL_NPM=1 VIGIL_UI=1 VIGIL_SHOTS=$(VIGIL_SHOTS) go test ./cmd/vigil -run '^TestPage' -count 1 -v -timeout 30m

screenshots: ## take the pictures of docs/guide/page anew; needs what make ui needs
	@mkdir -p bin/shots docs/guide/page
	VIGIL_NPM=1 VIGIL_UI=1 VIGIL_SHOTS=$(CURDIR)/bin/shots go test ./cmd/vigil -run '^TestPage(Views|TerminalIsTaken|PromptIsAnswered)FromNPM$$' -count 1 -timeout 10m
	for name in fleet prompt agent servers timeline apply typing; do cp bin/shots/$$name-1280.png bin/shots/$$name-390.png docs/guide/page/; done

check: fmt vet staticcheck generated race ## everything a change must pass

platforms: ## build the client for the systems that it is for
	VIGIL_PLATFORMS=1 go test ./rpc/client -run ModuleOfOthers -count 1 -v
	for system in darwin windows; do GOOS=$$system CGO_ENABLED=0 go build -o /dev/null ./cmd/vigil || exit 1; done

fmt: ## list files that gofmt would change
	@files=$$(gofmt -l .) && test -z "$$files" || { echo "run gofmt -w on:"; echo "$$files"; exit 1; }

vet: ## run go vet; tests are run without the part of it that go test knows
	go vet ./...

staticcheck: .bin/installed/$(STATICCHECK) ## run staticcheck
	GOGC=400 GOMEMLIMIT=3GiB $(BIN)/staticcheck ./...

generated: generate web ## fail if rpc/gen, the SDKs' part of it or the page differs from what git holds
	git diff --exit-code -- rpc/gen rpc/web rpc/sdk
	@new=$$(git ls-files --others --exclude-standard rpc/gen rpc/web rpc/sdk) && test -z "$$new" || { echo "not in git:"; echo "$$new"; exit 1; }

DIST = $(CURDIR)/bin/dist
# Platforms of `make dist`, such as linux/amd64,windows/amd64; empty: all.
ONLY =

dist: ## make archives, deb, rpm, sums and lists of parts of this commit in bin/dist, twice: the bytes must be the same
	cd configs/dist && go run . -out $(DIST) -only '$(ONLY)' -compare

dist-test: ## install, upgrade and remove the deb in a fresh Debian and in one with a systemd that runs, and look at the rpm; needs root, debootstrap, systemd-container, the network of apt
	cd configs/dist && go run . -out $(DIST) -only linux/amd64
	cd configs/dist && VIGIL_DIST=$(DIST) go test -count 1 -v ./...

bench: ## run the benchmarks
	go test -run '^$$' -bench . -benchmem -p 1 ./...

peers: ## measure vigil beside etcd and nats-server, ROUNDS (3) times LASTING (5s) in turn, in clear and with TLS; fetches and builds them the first time
	go build -trimpath -o bin/vigil ./cmd/vigil
	cd jepsen/peers && go build -trimpath -o $(CURDIR)/bin/peers .
	bin/peers compare -vigil bin/vigil -rounds $(ROUNDS) -duration $(LASTING)
	bin/peers compare -vigil bin/vigil -rounds $(ROUNDS) -duration $(LASTING) -secure

jepsen: ## break everything for TIME (5m) by SEED (1) and judge, with NEMESIS= and OLDER= (also a version: 0.1) as bin/jepsen run -h tells; needs root, iproute2, nftables
	go build -trimpath -o bin/jepsen ./jepsen
	bin/jepsen run -time $(TIME) -seed $(SEED) -nemesis '$(NEMESIS)' -older '$(older)'

upgrades: OLDER = 0.1
upgrades: ## upgrade the servers of OLDER (0.1), a version or revision, to this build under load, agents alive, and judge; needs what jepsen needs
	go build -trimpath -o bin/jepsen ./jepsen
	bin/jepsen run -time 8s -hosts 2 -rate 6 -seed $(SEED) -nemesis rolling_upgrade -older '$(older)'

year: OLDER = 799e88c
year: TIME = 10m
year: ## let a year pass within TIME (10m): losses, repairs, rotations, a restore, upgrades from OLDER, by commands of the guide; needs what jepsen needs
	go build -trimpath -o bin/jepsen ./jepsen
	bin/jepsen run -year -time $(TIME) -hosts 2 -rate 6 -seed $(SEED) -older '$(older)'

incidents: ## try every row of the catalogue of incidents and write docs/incidents.md; needs what jepsen needs
	go run ./jepsen/incidents/table -out docs/incidents.md

month: ## simulate DAYS (30) days of clusters, hosts and agents, or whole days for HOURS=2h, from SEED
	go test ./jepsen/sim -run '^TestMonth$$' -count 1 -v -timeout 24h -sim.days $(DAYS) -sim.time $(HOURS) -sim.seed $(SEED) -sim.out $(CURDIR)/bin/month

detection: ## simulate HEALTHY (168) hours of healthy and SICK (24) of hung agents from SEED and write the figures of docs/detection.md
	GOMAXPROCS=1 GOMEMLIMIT=2GiB go test ./jepsen/sim -run '^TestFalseAlarms$$' -count 1 -v -timeout 24h -sim.detect $(HEALTHY) -sim.seed $(SEED) -sim.doc $(CURDIR)/docs/detection.md
	GOMAXPROCS=1 GOMEMLIMIT=2GiB go test ./jepsen/sim -run '^TestTrueAlarms$$' -count 1 -v -timeout 24h -sim.detect $(SICK) -sim.seed $(SEED) -sim.doc $(CURDIR)/docs/detection.md

mutants: ## break the product on purpose in every known way and write docs/mutants.md: each must be caught; needs what jepsen needs
	@mkdir -p bin && rm -f bin/mutants.jsonl
	go test -tags mutants ./jepsen/mutants -count 1 -v -timeout 4h -results $(CURDIR)/bin/mutants.jsonl -table $(CURDIR)/docs/mutants.md

hostfaults: ## break hosts, and servers meanwhile, FAULTS (500) times by SEED and judge; needs what jepsen needs
	go build -trimpath -o bin/jepsen ./jepsen
	bin/jepsen run -faults $(FAULTS) -seed $(SEED) -nemesis '$(HOSTS)' -workloads lifecycle -agents 11 -rate 6

clean: ## remove built programs and tools
	rm -rf bin .bin

# One empty file per tool and version, so that a new version in this file is installed.
.bin/installed/%:
	GOBIN=$(BIN) go install $*
	@mkdir -p $(@D) && touch $@
