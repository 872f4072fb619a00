/**
 * Loads everything in the image, as some modules are only asked for later. The entries of some threads refuse to load here, but are compiled.
 * react-pdf comes first, as threads load it: whoever loads a module first decides how it is compiled.
 */
import { existsSync, globSync } from 'node:fs'

/** What is loaded when it is needed, where it is installed. */
const LATER = ['@react-pdf/image', 'fontkit', 'puppeteer', 'puppeteer-cluster', 'woff2-encoder/decompress']

if (existsSync('node_modules/@react-pdf/renderer')) {
  const { importDocument } = await import('../renderer/src/engine/thread/document-module.ts')
  await importDocument()
}
const own = globSync('*/src/**/*.ts').map((file) => `../${file}`)
await Promise.allSettled([...own, ...LATER].map((module) => import(module)))
