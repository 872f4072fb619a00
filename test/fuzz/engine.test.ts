import { describeFuzzing } from './fuzz.suite.ts'
import { assets } from './target/asset.ts'
import { liquid, reactPdf } from './target/template.ts'

describeFuzzing(reactPdf, 20)
describeFuzzing(liquid, 10)
for (const target of assets) describeFuzzing(target, 15)
