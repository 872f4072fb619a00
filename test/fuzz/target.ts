/**
 * What is fuzzed: something of the product that hostile input meets, and what such input may look like. Whatever comes in, the outcome is
 * a good one or a refusal out of the catalog that quotes none of the data, and well-behaved input still comes out after it.
 */
import * as fc from 'fast-check'

/** Stands in all data that is generated; no message may have it. */
export const SECRET = 'hunter2'

export interface Subject<Input> extends AsyncDisposable {
  /** Throws where the outcome is not one of those that may be. */
  readonly meet: (input: Input) => Promise<void> | void
}

/** Inputs are JSON, so that one that was found can be kept as a file. */
export interface Fuzzing<Input> {
  readonly name: string
  readonly inputs: fc.Arbitrary<Input>
  readonly open: () => Promise<Subject<Input>>
}

export interface Find {
  readonly target: string
  readonly seed: number
  /** Shrunk. */
  readonly input: unknown
  readonly message: string
}

export interface Bounds {
  readonly seed: number
  readonly runs: number
  /** Begins no further run after it. */
  readonly milliseconds?: number
}

export interface OpenTarget extends AsyncDisposable {
  readonly fuzz: (bounds: Bounds) => Promise<{ readonly runs: number; readonly find?: Find }>
  readonly replay: (input: unknown) => Promise<void>
}

export interface Target {
  readonly name: string
  readonly open: () => Promise<OpenTarget>
}

export function targetOf<Input>({ name, inputs, open }: Fuzzing<Input>): Target {
  return {
    name,
    async open() {
      const subject = await open()
      return {
        async fuzz({ seed, runs, milliseconds }) {
          const bounds = milliseconds === undefined ? {} : { interruptAfterTimeLimit: milliseconds }
          const attempt = fc.asyncProperty(inputs, async (input) => subject.meet(asKept(input)))
          const result = await fc.check(attempt, { seed, numRuns: runs, ...bounds })
          const [input] = result.counterexample ?? []
          if (input === undefined) return { runs: result.numRuns }
          const { errorInstance } = result
          const message =
            errorInstance instanceof Error ? (errorInstance.stack ?? errorInstance.message) : String(errorInstance)
          return { runs: result.numRuns, find: { target: name, seed, input: asKept(input), message } }
        },
        // What is in the corpus was an input of this target.
        replay: async (input) => subject.meet(input as Input),
        [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
      }
    },
  }
}

/** As it comes back from a file. */
function asKept<Input>(input: Input): Input {
  return JSON.parse(JSON.stringify(input)) as Input
}
