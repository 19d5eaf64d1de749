/** Commands of Helm in the pages are complete: whoever types them gets the release that is meant, with its values. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const pages = [
  'README.md',
  'deploy/helm/fairlead/README.md',
  ...readdirSync(`${root}docs`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
/** Those with `…` stand for one that is given in full. */
const commands = pages
  .flatMap((page) => [...read(page).matchAll(/helm (?:install|upgrade|uninstall|rollback) [^`\n]+/g)])
  .map(([command]) => command)
  .filter((command) => !/^helm \w+ …/.test(command))

test('each names the namespace: otherwise Helm takes that of the kubeconfig, and finds no release', () => {
  expect(commands.length).toBeGreaterThan(8)
  expect(commands.filter((command) => !command.includes('--namespace=kube-system'))).toEqual([])
})

test('an upgrade keeps the values that were given before, and takes new defaults', () => {
  const upgrades = commands.filter((command) => command.startsWith('helm upgrade'))
  expect(upgrades.length).toBeGreaterThan(1)
  expect(upgrades.filter((command) => !command.includes('--reset-then-reuse-values'))).toEqual([])
})

/** With continued lines made one. */
function read(page: string): string {
  return readFileSync(root + page, 'utf8').replaceAll(/\s*\\\n\s*/g, ' ')
}
