#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const main = new URL('../dist/cli/main.js', import.meta.url)

if (existsSync(main)) {
  const { main: run } = await import(main)
  process.exitCode = await run(process.argv.slice(2))
} else {
  const folder = fileURLToPath(new URL('..', import.meta.url))
  process.stderr.write(`Error: Fairlead is not built yet: run "npm ci && npm run build" in ${folder}\n`)
  process.exitCode = 1
}
