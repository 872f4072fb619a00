import { describe } from 'vitest'
import { describeAttacks } from './attack.suite.ts'

describe('html', () => describeAttacks('html'))
