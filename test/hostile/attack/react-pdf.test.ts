import { describe } from 'vitest'
import { describeAttacks } from './attack.suite.ts'

describe('react_pdf', () => describeAttacks('react_pdf'))
