#!/bin/sh
# Removes from the installed packages what the service does not load. Usage: trim.sh [latin]
set -e
# Node runs no TypeScript of packages. Source maps are for debuggers, `.bare` for another runtime, and the rest for readers and makers.
find node_modules \( -type d -empty -o -type f \( -name '*.ts' -o -name '*.[cm]ts' -o -name '*.map' -o -name '*.md' \
    -o -name '*.bare' -o -path '*/.yarn/*' \) \) -delete
[ -d renderer/node_modules/typescript ] || exit 0
# Of TypeScript, only the compiler as a library and its declarations of the language.
(cd renderer/node_modules/typescript/lib && rm -rf */ _* tsc.js tsserver* typescript.d.ts lib.dom* lib.webworker*)
# Of bwip-js, the file that Node loads.
(cd node_modules/bwip-js && rm -rf bin examples fonts lib src barcode.ps demo.html stb_truetype.h \
    && find dist -type f ! -name 'bwip-js-node.js' -delete)
# Of the fonts, the weights that are used.
cd node_modules/@expo-google-fonts
find . -mindepth 2 -maxdepth 2 -type d ! -name '400Regular*' ! -name '700Bold*' -exec rm -rf {} +
find . -name '*.png' -delete
if [ "$1" = latin ]; then rm -rf noto-sans-sc noto-sans-tc noto-sans-jp noto-sans-kr noto-emoji noto-color-emoji; fi
