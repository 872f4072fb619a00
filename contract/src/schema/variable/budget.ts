/**
 * Counts the cost of compiling a schema and checking data. A count does not depend on how busy the machine is, so what fits once always
 * fits.
 */
import { SCHEMA_WEIGHT_MAX } from '../../domain/limit.ts'

/**
 * Steps that checking one body of data may take, about 10 ns each. A schema that branches at each of its references would never end. The
 * largest body of the simplest data, ten MiB of digits in a list, takes ten million.
 */
const VALIDATION_STEPS_MAX = 50_000_000

export class OutOfSteps extends Error {
  override readonly name = 'OutOfSteps'
}

/** The steps left for the current check. */
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

/** References followed without a keyword between them: two or three for each in a chain. More of them form a circle. */
const REFERENCES_IN_A_ROW_MAX = 128

/** The weight of the schema that is being compiled. */
export class Weight {
  #sum = 0
  #followed = 0

  /** Adds the weight of a keyword. */
  add(weight: number): void {
    this.#followed = 0
    this.#take(weight)
  }

  /** Adds the weight of following a reference, which may lead to another one. */
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
