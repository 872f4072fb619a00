/**
 * A QuickJS in a WebAssembly memory of its own, which can be put back to an earlier moment byte for byte. That is how one machine
 * serves any number of templates without one leaving anything to another, be it by a bug of the engine: what it does not put
 * back it fills with zeros. Making a machine costs ten times as much as putting one back, and memory the collector has to find.
 */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import release from '@jitl/quickjs-wasmfile-release-sync'
import {
  SANDBOX_MEMORY_BYTES_MAX,
  SANDBOX_MEMORY_KEPT_BYTES_MAX,
  SANDBOX_STACK_BYTES_MAX,
} from '@platen/contract/limit.ts'
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSSyncVariant,
} from 'quickjs-emscripten-core'

export interface Machine {
  readonly context: QuickJSContext
  /** Is it to be asked no more? Its memory has grown so far that putting it back costs more than another machine. */
  isOutgrown(): boolean
  /** The memory as it is now, as what has changed since `earlier`. */
  copy(earlier?: MemoryImage): MemoryImage
  /** Puts the memory back. All handles made since are void. */
  restore(image: MemoryImage): void
  /** Was it refused memory since it was put back? */
  hasRunOut(): boolean
  /** From here on the code is stopped after asking so many times (about every 10,000 branches); undefined: never. */
  limitInterrupts(max: number | undefined): void
}

/** What a memory held at some moment: what it held earlier, and the blocks that have changed since. */
export interface MemoryImage {
  readonly earlier: MemoryImage | undefined
  readonly blocks: ReadonlyMap<number, Uint8Array>
}

const BLOCK_BYTES = 4096
const EMPTY_BLOCK = new Uint8Array(BLOCK_BYTES)

// The compiler's library has this global with the browser's only.
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> }

/** Compiles QuickJS, once for any number of machines, and gives what makes them. */
export async function openMachineFactory(): Promise<() => Promise<Machine>> {
  const require = createRequire(import.meta.url)
  const wasmModule = await WebAssembly.compile(
    await readFile(require.resolve('@jitl/quickjs-wasmfile-release-sync/wasm')),
  )
  // Its type declarations are those of its CommonJS build, where the variant is a field.
  const variant = release as unknown as QuickJSSyncVariant
  const compiled = newVariant(variant, { wasmModule })
  return async () => {
    const quickjs = await newQuickJSWASMModuleFromVariant(compiled)
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

/** A memory of WebAssembly. Its buffer is another one after it has grown. */
interface Memory {
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}

const PAGE_BYTES = 65_536

/**
 * Has the memory refuse to grow past its limit, and QuickJS throw "out of memory" then. The limit it has itself holds for a single
 * allocation only: here it cannot tell how large those are that it has made, and counts each as nothing.
 */
function limitGrowth(memory: Memory, onRefusal: () => void): void {
  const grow = memory.grow.bind(memory)
  memory.grow = (pages) => {
    if (memory.buffer.byteLength + pages * PAGE_BYTES <= SANDBOX_MEMORY_BYTES_MAX) return grow(pages)
    onRefusal()
    throw new RangeError('no more memory')
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
  if (earlier === undefined) memory.fill(0)
  else restore(memory, earlier)
  for (const [at, block] of blocks) memory.set(block, at)
}
