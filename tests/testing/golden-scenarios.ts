/** What the real kube-proxy programmed, scenario by scenario: see tests/goldens/README.md. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../goldens', import.meta.url))

export const scenarioNames: readonly string[] = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

export function golden(scenario: string, file: string): string {
  return readFileSync(join(folder, scenario, file), 'utf8')
}

/** Some modes were recorded for a few scenarios only. */
export function hasGolden(scenario: string, file: string): boolean {
  return existsSync(join(folder, scenario, file))
}

/** Paths of the objects that existed: those of every scenario, and those of this one. */
export function objectPaths(scenario: string): readonly string[] {
  return [join(folder, 'common.json'), join(folder, scenario, 'objects.json')]
}

export function configPath(scenario: string): string {
  return join(folder, scenario, 'config.json')
}
