/** All there is to fuzz. */
import { assets } from './target/asset.ts'
import { body } from './target/body.ts'
import { data } from './target/data.ts'
import { resource } from './target/resource.ts'
import { liquid, reactPdf } from './target/template.ts'
import type { Target } from './target.ts'

export const TARGETS: readonly Target[] = [data, body, resource, reactPdf, liquid, ...assets]
