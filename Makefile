# The one entry for people and for CI. `make help` lists the targets.
#
# Node 24 comes with the npm packages and is at node_modules/.bin/node; recipes call that one, never the `node` on PATH,
# which need only be good enough to run npm.

NODE := node_modules/.bin/node

# The settings of the service are PLATEN_…, see docs/embedded.md. PORT is the one that people change by hand.
PORT ?= $(or $(PLATEN_PORT),8080)
PLATEN_DATA_DIR ?= data
export PLATEN_PORT := $(PORT)
export PLATEN_DATA_DIR

.DEFAULT_GOAL := help
.PHONY: help run cluster kube images node check quick test e2e servers bench size soak chaos drill hostile fuzz pictures

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

run: node_modules/.package-lock.json ## start the service and render an invoice (PORT=8081: another port, ONCE=1: stop then)
	@renderer/install-chromium.sh
	@NODE_COMPILE_CACHE=$${NODE_COMPILE_CACHE:-node_modules/.cache/compile} MALLOC_TRIM_THRESHOLD_=131072 MALLOC_ARENA_MAX=2 exec $(NODE) --max-semi-space-size=4 --no-allocation-site-pretenuring embedded/src/first-run.ts --data "$(PLATEN_DATA_DIR)" $(if $(ONCE),--once)

cluster: node_modules/.package-lock.json ## start every process of a cluster on this machine, on a real Kafka, Redis and S3
	@renderer/install-chromium.sh
	@$(NODE) test/topology/server/install.ts
	@exec $(NODE) test/topology/cluster/main.ts

kube: node_modules/.package-lock.json ## start the same under a Kubernetes API with operators, and no resource yet
	@renderer/install-chromium.sh
	@openssl version >/dev/null 2>&1 || .ci/apt-install openssl
	@$(NODE) test/topology/server/install.ts
	@exec $(NODE) test/topology/cluster/main.ts kube

# The first that works; docker's client is there at times without anything to talk to.
BUILDER ?= $(firstword $(foreach name,docker podman buildah,$(shell $(name) info >/dev/null 2>&1 && echo $(name))))
COMMIT ?= $(shell git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null)
TAG ?= $(shell sed -n 's/^appVersion: //p' charts/platen/Chart.yaml)

images: ## build the images by docker, podman or buildah (REGISTRY=example.com/team, TAG=1.0, FLAGS='--build-arg BASE=…')
	@[ -n "$(BUILDER)" ] || { echo 'there is no docker, podman or buildah here that works; to install one: apt-get install buildah' >&2; exit 1; }
	@for name in api renderer events operator embedded; do \
	  image=platen-$$name; [ $$name = embedded ] && image=platen; \
	  $(BUILDER) build --build-arg COMMIT=$(COMMIT) $(FLAGS) --target $$name --tag $(REGISTRY:%=%/)$$image:$(TAG) . || exit 1; \
	done

node: node_modules/.package-lock.json ## start one real Kubernetes node, and install the chart on it with images of these files
	@test/node/machine/prepare
	@exec $(NODE) test/node/machine/enter.ts $(NODE) test/node/main.ts

check: node_modules/.package-lock.json ## check formatting, lint and types, and look for known vulnerabilities
	npm run --silent check
	@$(NODE) test/audit/main.ts

quick: node_modules/.package-lock.json ## check, and run in two minutes what a change most likely breaks
	@renderer/install-chromium.sh
	npm run --silent check
	@$(NODE) test/run/main.ts quick

test: node_modules/.package-lock.json ## run every test (REAL_TIME=1: without shortened waits)
	@renderer/install-chromium.sh
	@qpdf --version >/dev/null 2>&1 && pdftotext -v >/dev/null 2>&1 && openssl version >/dev/null 2>&1 && ip -V >/dev/null 2>&1 || .ci/apt-install qpdf poppler-utils openssl iproute2 || true
	@ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || .ci/apt-install libfaketime || true
	@python3 --version >/dev/null 2>&1 && go version >/dev/null 2>&1 || .ci/apt-install python3 python3-pip golang-go || true
	@python3 -c 'import ensurepip' 2>/dev/null || .ci/apt-install python3-venv || true
	@test/client-python/prepare || true
	@python3 -c 'import standardwebhooks' 2>/dev/null || python3 -m pip install --quiet --upgrade --target out/python --no-deps --require-hashes -r test/webhook/requirements.txt || true
	@for folder in test/postman test/openapi; do [ $$folder/node_modules/.package-lock.json -nt $$folder/package-lock.json ] || npm ci --ignore-scripts --prefix $$folder || true; done
	@[ out/openapi/installed -nt test/openapi/requirements.txt ] || { python3 -m pip install --quiet --upgrade --target out/openapi --no-deps --require-hashes -r test/openapi/requirements.txt && touch out/openapi/installed; } || true
	@(cd test/openapi/go && go build -o /dev/null tool) || true
	@$(NODE) test/topology/server/install.ts --quick || true
	@$(NODE) test/topology/server/kafka.ts || true
	@exec $(NODE) test/run/main.ts

e2e: node_modules/.package-lock.json ## install the chart on a real node, and see that it holds what it promises (SHORT=1: as CI does, the most of it)
	@test/node/machine/prepare
	@$(if $(SHORT),,LONG=1) exec $(NODE) test/node/machine/enter.ts $(NODE) node_modules/vitest/vitest.mjs run --config test/node/machine/vitest.config.ts

servers: node_modules/.package-lock.json ## install the real servers of the tests, or build them into the cache, once
	@$(NODE) test/topology/server/install.ts

bench: node_modules/.package-lock.json ## measure the service beside the bare libraries under it (ONLY=html,start SCALE=0.2: a part, a fifth; ONLY=peers: beside other products)
	@renderer/install-chromium.sh
	@exec $(NODE) test/bench/main.ts

size: node_modules/.package-lock.json ## count what there is to read: lines, names, settings, limits, words, by package
	@exec $(NODE) test/size/main.ts

soak: node_modules/.package-lock.json ## render two thousand mixed documents, some hostile, and see what is left of them (RENDERS=400: fewer)
	@renderer/install-chromium.sh
	@$(NODE) test/soak/main.ts
	LONG=1 REAL_TIME=1 npm test --silent -- limiter.differential offset-keeper projection.test propagated.test example.test chaos/charge chaos/kill chaos/webhook chaos/cluster/guard cluster/rebalance scenario/fairness directory limiter.test render-ledger.test

chaos: node_modules/.package-lock.json ## break everything that a cluster depends on, and check the promises (ROUNDS=20: the long form; ONLY=stop,s3 or ONLY=operator; SEED=7)
	@$(NODE) test/topology/server/install.ts
	@ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || .ci/apt-install libfaketime || true
	@LONG=1 REAL_TIME=1 exec $(NODE) $(if $(filter operator,$(ONLY)),node_modules/vitest/vitest.mjs run test/operator/chaos,test/chaos/cluster/main.ts)

drill: node_modules/.package-lock.json ## lose each server that a cluster depends on, and the data folder, restore it, and report what callers saw (ONLY=kafka,etcd: a part)
	@$(NODE) test/topology/server/install.ts
	@REAL_TIME=1 exec $(NODE) test/drill/main.ts

hostile: node_modules/.package-lock.json ## try every attack there is, beside a tenant that behaves and on the engines alone (TIMES=10: each ten times)
	@renderer/install-chromium.sh
	@$(NODE) test/topology/server/install.ts --quick || true
	LONG=1 npm test --silent -- scenario/neighbour test/hostile

fuzz: node_modules/.package-lock.json ## try hostile input by chance, and keep what is found in test/fuzz/found (MINUTES=30; ONLY=data,html; SEED=7)
	@renderer/install-chromium.sh
	@exec $(NODE) test/fuzz/main.ts

# By preview, as an author would make them, and with poppler's pdftoppm.
pictures: node_modules/.package-lock.json ## make the pictures of the README again, from the examples
	@mkdir -p out docs/picture
	npx --no platen preview examples invoice --engine react_pdf -o out/invoice.pdf
	pdftoppm -r 80 -png -singlefile -f 1 out/invoice.pdf docs/picture/invoice
	npx --no platen preview examples report --engine html -o out/report.pdf
	pdftoppm -r 80 -png -singlefile -f 2 out/report.pdf docs/picture/report
	for name in invoice-ar invoice-ja letter-th certificate-hi; do \
	  npx --no platen preview examples $$name -o out/$$name.pdf && \
	  pdftoppm -r 64 -png -singlefile out/$$name.pdf docs/picture/$$name || exit 1; \
	done

# npm writes this file last, so it is as old as the last installation that went through.
node_modules/.package-lock.json: package-lock.json
	npm ci
	@touch $@
