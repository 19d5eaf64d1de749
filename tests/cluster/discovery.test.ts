/** What the embedded API server says that it has is what a real one says of the same kinds. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { allResources } from '../../src/embedded/resources/all-resources.ts'
import { startBothServers } from './testing/both-servers.ts'
import type { BothServers } from './testing/both-servers.ts'

let servers: BothServers
beforeAll(async () => {
  servers = await startBothServers()
})
afterAll(() => servers[Symbol.asyncDispose]())

const versions = new Set(
  allResources.map(({ group, version }) => (group === '' ? `/api/${version}` : `/apis/${group}/${version}`)),
)

for (const path of versions) {
  test(`${path} describes its kinds as the real server does`, async () => {
    const ours = resourcesByName((await servers.ours.expect(200, 'GET', path))['resources'])
    const theirs = resourcesByName((await servers.theirs.expect(200, 'GET', path))['resources'])
    const names = Object.keys(ours)
    expect(names.length).toBeGreaterThan(0)
    expect(ours).toEqual(Object.fromEntries(names.map((name) => [name, theirs[name]])))
  })
}

interface Resource {
  readonly name: string
  readonly verbs: readonly string[]
}

function resourcesByName(resources: readonly Resource[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    // How the real server keeps them in etcd is its own affair.
    resources.map((one) => [one.name, { ...one, verbs: [...one.verbs].sort(), storageVersionHash: undefined }]),
  )
}
