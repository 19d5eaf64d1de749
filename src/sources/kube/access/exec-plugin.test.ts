import { expect, test } from 'vitest'
import { parseExecCredential } from './exec-plugin.ts'

const apiVersion = 'client.authentication.k8s.io/v1'

test.each([
  ['prints nothing useful', { apiVersion, status: {} }, 'gave neither status.token nor'],
  ['answers in another version', { apiVersion: 'x' }, 'answered in apiVersion x, but the kubeconfig asks for'],
  ['gives half a certificate', { apiVersion, status: { clientKeyData: 'k' } }, 'gave only one of'],
  [
    'gives a wrong time',
    { apiVersion, status: { token: 't', expirationTimestamp: 'soon' } },
    'expirationTimestamp that is not a time: soon',
  ],
])('an exec plugin that %s is refused', (_what, answer, problem) => {
  const parse = () => parseExecCredential(JSON.stringify(answer), { apiVersion, command: 'login' })
  expect(parse).toThrow(problem)
  expect(parse).toThrow(expect.objectContaining({ reason: 'credentials' }))
})
