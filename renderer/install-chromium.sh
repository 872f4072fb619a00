#!/bin/sh
# Sees to a Chromium for the html engine. Never fails: the service runs without one, and then renders with react_pdf only.
set -u
cd "$(dirname "$0")/.."

# PLATEN_CHROMIUM is the operator's choice; a wrong one is for the service to report.
[ -n "${PLATEN_CHROMIUM:-}" ] && exit 0

# Asks the service's own search, so that there is one list of places to look.
node_modules/.bin/node --input-type=module --eval '
  import { findChromium } from "./renderer/src/browser/executable.ts"
  process.exit((await findChromium({})) === undefined ? 1 : 0)
' && exit 0

.ci/apt-install chromium-headless-shell && exit 0
cat >&2 <<'TEXT'
There is no Chromium for the html engine; everything else works without one. To get it, type
  npx puppeteer browsers install chrome-headless-shell
or set PLATEN_CHROMIUM to the path of one.
TEXT
exit 0
