/** What compiling a schema and checking data may take, counted: what fits once fits always, on however busy a machine. */
import { SCHEMA_WEIGHT_MAX, VALIDATION_STEPS_MAX } from '../../limit.ts'

export class OutOfSteps extends Error {
  override readonly name = 'OutOfSteps'
}

/** What is left for the check under way. */
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

/** What a fault costs to write down, and what a branch does, which most often has one. */
export const FAULT_STEPS = 20

/** Looks at references without a keyword between them: two or three for each that leads to the next. More of them lead in circles. */
const REFERENCES_IN_A_ROW_MAX = 128

/** What compiling one schema has weighed so far. */
export class Weight {
  #sum = 0
  #followed = 0

  /** Of a keyword. */
  add(weight: number): void {
    this.#followed = 0
    this.#take(weight)
  }

  /** Of a reference, on the way to what it names in the end. */
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
