/**
 * Counts the cost of compiling a schema and checking data. Counts, unlike times, do not depend on how busy the machine is: what fits once
 * always fits.
 */
import { SCHEMA_WEIGHT_MAX } from '../../domain/limit.ts'

/**
 * Steps to check one body of data, about 10 ns each. A schema that branches at each of its references would never end. The largest body of
 * the simplest data, ten MiB of digits in a list, takes ten million.
 */
const VALIDATION_STEPS_MAX = 50_000_000

export class OutOfSteps extends Error {
  override readonly name = 'OutOfSteps'
}

/** Steps left for the current check. */
export class Steps {
  #left = 0

  reset(): void {
    this.#left = VALIDATION_STEPS_MAX
  }

  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new OutOfSteps()
  }
}

/** The cost of recording a fault, and of a branch, which usually has one. */
export const FAULT_STEPS = 20

/** References without a keyword between them: a chain takes two or three for each. More of them form a circle. */
const REFERENCES_IN_A_ROW_MAX = 128

/** Of the schema that is being compiled. */
export class Weight {
  #sum = 0
  #followed = 0

  add(weight: number): void {
    this.#followed = 0
    this.#take(weight)
  }

  /** A reference may lead to another one. */
  follow(weight: number): void {
    this.#followed += 1
    if (this.#followed > REFERENCES_IN_A_ROW_MAX) throw new OutOfSteps()
    this.#take(weight)
  }

  #take(weight: number): void {
    this.#sum += weight
    if (this.#sum > SCHEMA_WEIGHT_MAX)
      throw new Error(
        `it weighs more than ${SCHEMA_WEIGHT_MAX}, where a property weighs 2.5, most keywords 1, and branches, patterns and references more`,
      )
  }
}
