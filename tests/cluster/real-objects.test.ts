/** What a real API server makes of an object is what Fairlead reads, from the server and from a file alike. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defaultObject } from '../../src/api/defaulting/default-object.ts'
import { parseObject } from '../../src/api/parse.ts'
import type { ObjectRecord } from '../../src/api/records.ts'
import { endpointSliceScenarios } from './differential/endpoint-slice-scenarios.ts'
import { runScenario } from './differential/run-scenario.ts'
import type { JsonObject, Scenario } from './differential/scenario.ts'
import { serviceScenarios } from './differential/service-scenarios.ts'
import { startControlPlane } from './testing/control-plane.ts'
import type { ControlPlane } from './testing/control-plane.ts'

let cluster: ControlPlane
let accepted: readonly Accepted[]
beforeAll(async () => {
  cluster = await startControlPlane()
  await cluster.client.expect(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'demo' } })
  accepted = await acceptedObjects([...serviceScenarios, ...endpointSliceScenarios])
})
afterAll(() => cluster[Symbol.asyncDispose]())

test('a file with an object is read as the server would have stored it, but for what it allocates', () => {
  expect(accepted.length).toBeGreaterThan(50)
  const fromFiles = accepted.map(({ name, asked }) => [
    name,
    withoutAllocations(read(defaultObject(inNamespace(asked)))),
  ])
  const fromServer = accepted.map(({ name, stored }) => [name, withoutAllocations(read(stored))])
  expect(Object.fromEntries(fromFiles)).toEqual(Object.fromEntries(fromServer))
})

test('what the server accepts is no problem for us, unless no packet could use it', () => {
  const problems = accepted.flatMap(({ name, stored }) =>
    parseObject(kindOf(stored), stored).problems.map(({ field }) => `${name}: ${field}`),
  )
  expect(problems).toEqual([
    'a slice with a port without name, protocol and number: ports[0].port',
    'a slice of names: addressType',
    'a slice with port 0: ports[0].port',
    'a slice with port 65536: ports[0].port',
    'a slice with a generated name: metadata.labels["kubernetes.io/service-name"]',
  ])
})

interface Accepted {
  readonly name: string
  readonly asked: JsonObject
  readonly stored: JsonObject
}

/** The objects that the scenarios create, where the server agreed. */
async function acceptedObjects(scenarios: readonly Scenario[]): Promise<readonly Accepted[]> {
  const accepted: Accepted[] = []
  for (const { name, steps } of scenarios) {
    const [first] = steps
    if (first?.method !== 'POST') continue
    const [answer] = await runScenario({ name, steps: [first] }, cluster.client)
    if (answer?.status === 201) accepted.push({ name, asked: first.body as JsonObject, stored: answer.json })
  }
  return accepted
}

function inNamespace(object: JsonObject): JsonObject {
  return { ...object, metadata: { ...(object['metadata'] as JsonObject), namespace: 'demo' } }
}

function kindOf(object: JsonObject): 'Service' | 'EndpointSlice' {
  return object['kind'] === 'Service' ? 'Service' : 'EndpointSlice'
}

function read(object: unknown): ObjectRecord | undefined {
  const parsed = parseObject(kindOf(object as JsonObject), object)
  return parsed.ok ? parsed.record : undefined
}

function withoutAllocations(record: ObjectRecord | undefined): unknown {
  if (record === undefined) return undefined
  const unnamed = { ...record, name: '' }
  if (unnamed.kind !== 'Service') return unnamed
  const ports = unnamed.ports.map((port) => ({ ...port, nodePort: 0 }))
  const { createdAtMs: _, ...timeless } = unnamed
  return { ...timeless, ports, clusterIPs: {}, healthCheckNodePort: 0 }
}
