/** Stands for `brotli/decompress.js`, which is 800 kB. fontkit would unpack WOFF2 with it, and never gets any: see `woff2.ts`. */
// oxlint-disable-next-line import/no-default-export -- as the module has that this one stands for
export default function decompress(): never {
  throw new TypeError('fonts are unpacked before they are opened')
}
