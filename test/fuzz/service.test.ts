import { describeFuzzing } from './fuzz.suite.ts'
import { body } from './target/body.ts'
import { data } from './target/data.ts'
import { resource } from './target/resource.ts'

describeFuzzing(data, 100)
describeFuzzing(body, 500)
describeFuzzing(resource, 40)
