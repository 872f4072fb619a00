# The images of the service, each a target. Built from the root of the repository:
#   docker build --target api --tag platen-api .
#
# Both bases are pinned, Node by the version that package.json names. A tag can be moved: whoever publishes images adds the digests,
# --build-arg NODE=node:24.21.0-trixie-slim@sha256:… --build-arg BASE=debian:trixie-slim@sha256:…
ARG NODE=node:24.21.0-trixie-slim
ARG BASE=debian:trixie-slim

FROM ${NODE} AS install
WORKDIR /srv/platen
COPY .npmrc package.json package-lock.json ./
COPY lib/package.json lib/
COPY contract/package.json contract/
COPY adapters/package.json adapters/
COPY process/package.json process/
COPY settings/package.json settings/
COPY api/package.json api/
COPY renderer/package.json renderer/
COPY events/package.json events/
COPY operator/package.json operator/
COPY embedded/package.json embedded/
COPY image/trim.sh image/

# Of the one lockfile, what the packages of an image need and nothing else. No package runs a script of its own.
FROM install AS install-api
RUN npm ci --omit=dev --ignore-scripts --workspace lib --workspace contract --workspace adapters --workspace process --workspace api
RUN image/trim.sh

FROM install AS install-events
RUN npm ci --omit=dev --ignore-scripts --workspace lib --workspace contract --workspace adapters --workspace process --workspace events
RUN image/trim.sh

# With --build-arg FONTS=latin the images have none of the large fonts, which are for Chinese, Japanese, Korean and emoji.
FROM install AS install-renderer
RUN npm ci --omit=dev --ignore-scripts --workspace lib --workspace contract --workspace adapters --workspace process --workspace renderer
ARG FONTS=all
RUN image/trim.sh "$FONTS"

FROM install AS install-embedded
RUN npm ci --omit=dev --ignore-scripts --workspace lib --workspace contract --workspace adapters --workspace process --workspace settings --workspace api --workspace renderer --workspace events --workspace embedded
ARG FONTS=all
RUN image/trim.sh "$FONTS"

# The operator checks templates and prints none: it has no fonts, and nothing that writes PDFs or drives a browser.
FROM install AS install-operator
RUN npm ci --omit=dev --ignore-scripts --workspace lib --workspace contract --workspace adapters --workspace process --workspace settings --workspace renderer --workspace operator
RUN image/trim.sh
RUN cd node_modules && rm -rf @expo-google-fonts @react-pdf/hyphenate @react-pdf/reconciler @react-pdf/renderer pdfkit puppeteer puppeteer-core puppeteer-cluster @puppeteer chromium-bidi devtools-protocol

FROM ${BASE} AS service
# tini is the first process: Node would reap no orphan there, and be deaf to every signal it does not listen for.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends tini \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
WORKDIR /srv/platen
# Node without npm, which only who breaks in would use.
COPY --from=install /usr/local/bin/node /usr/local/bin/
COPY image/compile.sh image/compile.js image/
# The root may be read-only: /tmp alone is written to, and must be there. All else is root's.
# glibc gives back what threads and compilers have freed. By default it keeps more, the larger the pieces once were.
ENV NODE_ENV=production MALLOC_TRIM_THRESHOLD_=131072 MALLOC_ARENA_MAX=2 HOME=/tmp NODE_COMPILE_CACHE=/srv/platen/compile-cache

# No versions: Debian keeps no old ones, and Chromium's newest is the one whose holes are mended. Fonts come with the npm packages, so
# that documents look alike on every machine. Left out is what Chromium's package brings for a graphics card, for other languages of
# its menus and for those who debug it: a headless shell without a card loads none of it.
FROM service AS printing
RUN for unused in '/usr/lib/chromium/locales/*' '/usr/lib/chromium/libVk*' '/usr/lib/chromium/*.TOC' \
        '/usr/lib/*/libLLVM*' '/usr/lib/*/libgallium*' '/usr/lib/*/libz3*' '/usr/share/fonts/*' '/usr/share/locale/*'; \
    do echo "path-exclude=$unused"; done > /etc/dpkg/dpkg.cfg.d/unused \
    && apt-get update \
    && apt-get install --yes --no-install-recommends chromium-headless-shell \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*

FROM service AS api
COPY --from=install-api /srv/platen ./
COPY lib/src lib/src
COPY contract/src contract/src
COPY adapters/src adapters/src
COPY process/src process/src
COPY api/src api/src
# Settings are read in pieces that are garbage at once: with a small nursery, those of ten thousand tenants take 90 MB less, and no longer.
ENV NODE_OPTIONS=--max-semi-space-size=4
RUN image/compile.sh
# The last layer, because it differs in each build. `platen_build_info` shows it.
ARG COMMIT
RUN echo "$COMMIT" > adapters/commit
USER 10001:10001
EXPOSE 8080 9090
ENTRYPOINT ["/usr/bin/tini", "--", "node", "api/src/main.ts"]

# What calls webhook receivers, counts charges and removes what is past its time.
FROM service AS events
COPY --from=install-events /srv/platen ./
COPY lib/src lib/src
COPY contract/src contract/src
COPY adapters/src adapters/src
COPY process/src process/src
COPY events/src events/src
# Node lets the space of new objects grow to 64 MB and keeps it. The main thread needs a tenth of that.
ENV NODE_OPTIONS=--max-semi-space-size=4
RUN image/compile.sh
ARG COMMIT
RUN echo "$COMMIT" > adapters/commit
USER 10001:10001
EXPOSE 9090
ENTRYPOINT ["/usr/bin/tini", "--", "node", "events/src/main.ts"]

# No Chromium, and no NODE_OPTIONS: the operator keeps its heap small itself.
FROM service AS operator
COPY --from=install-operator /srv/platen ./
COPY lib/src lib/src
COPY contract/src contract/src
COPY adapters/src adapters/src
COPY process/src process/src
COPY settings/src settings/src
COPY renderer/src renderer/src
COPY operator/src operator/src
RUN image/compile.sh
ARG COMMIT
RUN echo "$COMMIT" > adapters/commit
USER 10001:10001
EXPOSE 9090
ENTRYPOINT ["/usr/bin/tini", "--", "node", "operator/src/main.ts"]

# Both engines.
FROM printing AS renderer
COPY --from=install-renderer /srv/platen ./
COPY lib/src lib/src
COPY contract/src contract/src
COPY adapters/src adapters/src
COPY process/src process/src
COPY renderer/src renderer/src
ENV NODE_OPTIONS=--max-semi-space-size=4
RUN image/compile.sh --no-allocation-site-pretenuring
ARG COMMIT
RUN echo "$COMMIT" > adapters/commit
USER 10001:10001
EXPOSE 9090
ENTRYPOINT ["/usr/bin/tini", "--", "node", "--no-allocation-site-pretenuring", "renderer/src/main.ts"]

# The whole service in one process, on SQLite and files, with the example manifests.
FROM printing AS embedded
COPY --from=install-embedded /srv/platen ./
COPY lib/src lib/src
COPY contract/src contract/src
COPY adapters/src adapters/src
COPY process/src process/src
COPY settings/src settings/src
COPY api/src api/src
COPY renderer/src renderer/src
COPY events/src events/src
COPY embedded/src embedded/src
COPY examples examples
ENV NODE_OPTIONS=--max-semi-space-size=4 PLATEN_HOST=0.0.0.0 PLATEN_PUBLIC_URL=http://localhost:8080 PLATEN_DATA_DIR=/data
RUN install --directory --owner=10001 --mode=700 /data
RUN image/compile.sh --no-allocation-site-pretenuring
ARG COMMIT
RUN echo "$COMMIT" > adapters/commit
USER 10001:10001
EXPOSE 8080
ENTRYPOINT ["/usr/bin/tini", "--", "node", "--no-allocation-site-pretenuring", "embedded/src/main.ts"]
