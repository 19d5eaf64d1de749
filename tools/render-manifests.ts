/**
 * `npm run manifests`: makes what is made from the Helm chart and its values, so that nothing is kept twice. The result
 * is committed; tests fail when it is out of date.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { chartFiles } from './deploy/chart-files.ts'
import { manifestFiles } from './deploy/manifests.ts'

// The schema first: Helm checks the values with it.
for (const files of [chartFiles, manifestFiles])
  for (const [path, text] of await files()) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
