import { expect, test } from 'vitest'
import { externalOutcome, internalOutcome, outcomeUnder } from './outcome.ts'
import { testEndpoint, testRoute } from '../testing/routes.ts'

const here = testEndpoint('10.0.0.1', 8080, { isLocal: true })
const there = testEndpoint('10.0.0.2', 8080)

test('traffic goes to the endpoints that its policy allows', () => {
  const route = testRoute('demo/web', {
    endpoints: [here, there],
    externalPolicy: 'Local',
    isExternallyAccessible: true,
  })
  expect(internalOutcome(route)).toMatchObject({ kind: 'forward', to: [here, there] })
  expect(externalOutcome(route)).toMatchObject({ kind: 'forward', to: [here] })
  expect(outcomeUnder('Cluster', route)).toEqual(internalOutcome(route))
  expect(outcomeUnder('Local', route)).toEqual(externalOutcome(route))
})

test('it is dropped while others could serve it, so that it is sent again', () => {
  const route = testRoute('demo/web', { endpoints: [there], internalPolicy: 'Local' })
  expect(internalOutcome(route)).toMatchObject({ kind: 'drop' })
})

test('it is rejected when nobody can serve it, whatever the policy', () => {
  const route = testRoute('demo/web')
  expect(outcomeUnder('Cluster', route)).toMatchObject({ kind: 'reject' })
  expect(outcomeUnder('Local', route)).toMatchObject({ kind: 'reject' })
})
