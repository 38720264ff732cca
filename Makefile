# Everything is done by scripts and the go command; this file says what belongs
# together. DATABASE_URL and the SECKILL_ variables pass through to the program.

TOOL = go tool -modfile=tools/go.mod

.DEFAULT_GOAL := help
.PHONY: bench bench-push build check clean generate help need-postgres run test

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

# The program itself is run, not go run: it gets the signals and its exit code
# comes through.
run: need-postgres build ## start the service with a sale to try, and its own Postgres unless DATABASE_URL is set
	@exec bin/seckill serve --demo

# One package at a time: the tests that freeze and kill processes have deadlines,
# and two cores are soon full.
test: ## run all tests; installs what they need: Postgres, Chromium, nginx
	@scripts/need-postgres.sh
	@scripts/need-chromium.sh
	@scripts/need-nginx.sh
	@if scripts/need-cc.sh; then export CGO_ENABLED=1 race=-race; fi; \
		set -x; go test $$race -p 1 -timeout 15m ./...

check: ## what must hold before the tests: format, lint, generated code, scripts, licences, known vulnerabilities
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not gofmt-ed:" $$unformatted; exit 1; }
	go mod tidy -diff
	go vet ./...
	$(TOOL) golangci-lint run
	$(TOOL) sqlc diff
	@for script in scripts/*.sh; do sh -n "$$script" || exit 1; done; bash -n .ci/run
	go vet -C tools ./...
	go test -C tools ./...
	go run -C tools ./licenses ..
	scripts/check-vulnerabilities.sh

generate: ## write the Go code of the SQL queries anew
	$(TOOL) sqlc generate

bench: need-postgres build ## measure purchases per second on this machine
	@exec bin/seckill bench

bench-push: need-postgres build ## measure how many can wait for results on one node, and how soon they are told
	@exec bin/seckill bench-push

build: ## build bin/seckill
	@go build -o bin/seckill ./cmd/seckill

clean: ## remove what was built; the service's data stays
	rm -rf bin coverage.out

need-postgres:
	@test -n "$$DATABASE_URL" || scripts/need-postgres.sh
