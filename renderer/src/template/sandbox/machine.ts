/**
 * A QuickJS with its own WebAssembly memory, which can be restored to an earlier state byte for byte. So one machine serves many templates,
 * and none leaves anything for the next, not even through a bug of the engine: the rest of the memory is filled with zeros. A new machine
 * costs ten times as much as a restore, and leaves memory to the garbage collector.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import release from '@jitl/quickjs-wasmfile-release-sync'
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSSyncVariant,
} from 'quickjs-emscripten-core'
import { SANDBOX_MEMORY_BYTES_MAX, SANDBOX_STACK_BYTES_MAX } from '../limit.ts'

const MIB = 1024 * 1024

/** A machine with more memory is not reused: memory never shrinks, and a restore reads all of it. */
export const SANDBOX_MEMORY_KEPT_BYTES_MAX = 64 * MIB

export interface Machine {
  readonly context: QuickJSContext
  /** It must not be used again: a restore would cost more than a new machine. */
  isOutgrown(): boolean
  /** Only the difference from `earlier`. */
  copy(earlier?: MemoryImage): MemoryImage
  /** All handles made since then become invalid. */
  restore(image: MemoryImage): void
  /** Since the last restore. */
  hasRunOut(): boolean
  /** Stops the code after this many interrupts from now on, one about every 10,000 branches. Undefined means never. */
  limitInterrupts(max: number | undefined): void
}

/** An earlier state, and the blocks that changed since, by offset. */
export interface MemoryImage {
  readonly earlier: MemoryImage | undefined
  readonly blocks: ReadonlyMap<number, Uint8Array>
}

const BLOCK_BYTES = 4096
const EMPTY_BLOCK = new Uint8Array(BLOCK_BYTES)

// TypeScript declares this global only in its browser library.
declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<object>
  readonly Memory: new (pages: { readonly initial: number; readonly maximum: number }) => object
}

export async function openMachineFactory(): Promise<() => Promise<Machine>> {
  const require = createRequire(import.meta.url)
  const file = await readFile(require.resolve('@jitl/quickjs-wasmfile-release-sync/wasm'))
  const wasmModule = await WebAssembly.compile(withSmallMemory(file))
  // The types describe the CommonJS build, where the variant is a field.
  const variant = release as unknown as QuickJSSyncVariant
  return async () => {
    const wasmMemory = new WebAssembly.Memory({ initial: PAGES_MIN, maximum: PAGES_MAX })
    const quickjs = await newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmModule, wasmMemory }))
    const runtime = quickjs.newRuntime()
    runtime.setMaxStackSize(SANDBOX_STACK_BYTES_MAX)
    let interruptsLeft = Number.POSITIVE_INFINITY
    runtime.setInterruptHandler(() => {
      interruptsLeft -= 1
      return interruptsLeft < 0
    })
    const memory: Memory = quickjs.getWasmMemory()
    let hasRunOut = false
    limitGrowth(memory, () => {
      hasRunOut = true
    })
    return {
      context: runtime.newContext(),
      isOutgrown: () => memory.buffer.byteLength > SANDBOX_MEMORY_KEPT_BYTES_MAX,
      copy: (earlier) => imageOf(new Uint8Array(memory.buffer), earlier),
      restore(image) {
        hasRunOut = false
        restore(new Uint8Array(memory.buffer), image)
      },
      hasRunOut: () => hasRunOut,
      limitInterrupts(max) {
        interruptsLeft = max ?? Number.POSITIVE_INFINITY
      },
    }
  }
}

/**
 * Pages of a new machine. QuickJS is compiled for 256, 80 of them for its stack, and asks for more when needed. A restore reads all pages,
 * and most templates need few.
 */
const PAGES_MIN = 112
const PAGES_MAX = 32_768

/** The import of the memory, `a.a`, with its page limits in LEB128: as compiled, and with `PAGES_MIN` in the same number of bytes. */
const MEMORY = Buffer.from('0161016102018002808002', 'hex')
const SMALL_MEMORY = Buffer.from(MEMORY).fill(Buffer.from([PAGES_MIN | 0x80, 0]), 6, 8)

function withSmallMemory(file: Buffer): Buffer {
  const at = file.indexOf(MEMORY)
  assert(at !== -1 && file.indexOf(MEMORY, at + 1) === -1, 'QuickJS imports its memory once')
  return Buffer.concat([file.subarray(0, at), SMALL_MEMORY, file.subarray(at + MEMORY.length)])
}

/** A WebAssembly memory gets a new buffer when it grows. */
interface Memory {
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}

const PAGE_BYTES = 65_536

/**
 * Makes the memory refuse to grow above its limit, so that QuickJS throws "out of memory". QuickJS's own limit only works for a single
 * allocation: in this build it cannot read the size of its allocations and counts each as 0.
 */
function limitGrowth(memory: Memory, onRefusal: () => void): void {
  const grow = memory.grow.bind(memory)
  memory.grow = (pages) => {
    if (memory.buffer.byteLength + pages * PAGE_BYTES <= SANDBOX_MEMORY_BYTES_MAX) return grow(pages)
    onRefusal()
    throw new RangeError('out of memory')
  }
}

function imageOf(memory: Uint8Array, earlier: MemoryImage | undefined): MemoryImage {
  const blocks = new Map<number, Uint8Array>()
  for (let at = 0; at < memory.length; at += BLOCK_BYTES) {
    const block = memory.subarray(at, at + BLOCK_BYTES)
    if (Buffer.compare(block, blockAt(earlier, at)) !== 0) blocks.set(at, block.slice())
  }
  return { earlier, blocks }
}

function blockAt(image: MemoryImage | undefined, at: number): Uint8Array {
  return image === undefined ? EMPTY_BLOCK : (image.blocks.get(at) ?? blockAt(image.earlier, at))
}

function restore(memory: Uint8Array, { earlier, blocks }: MemoryImage): void {
  if (earlier === undefined) clear(memory)
  else restore(memory, earlier)
  for (const [at, block] of blocks) memory.set(block, at)
}

/** Most of the memory is the stack, which few templates use. Reading it takes less time than writing it. */
function clear(memory: Uint8Array): void {
  for (let at = 0; at < memory.length; at += PAGE_BYTES) {
    const page = memory.subarray(at, at + PAGE_BYTES)
    if (Buffer.compare(page, EMPTY_PAGE) !== 0) page.fill(0)
  }
}

const EMPTY_PAGE = new Uint8Array(PAGE_BYTES)
