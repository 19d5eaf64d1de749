import { expect, test } from 'vitest'
import { failureOf, hresult, renderErrorRecord } from './hresult.ts'

test('a failure is told as kube-proxy tells it', () => {
  const record = '{"Success":false,"Error":"The specified port already exists. ","ErrorCode":2151350291}'
  expect(renderErrorRecord(0x803b0013)).toBe(record)
  expect(failureOf('hcnCreateLoadBalancer', 0x803b0013 | 0, record)).toMatchObject({
    message: `hcnCreateLoadBalancer failed in Win32: The specified port already exists. (0x803b0013) ${record}`,
    reason: 'port-already-exists',
    hresult: 0x803b0013,
  })
})

test('a code of Win32 is unwrapped for people', () => {
  expect(failureOf('hcnOpenEndpoint', 0x80070490, '')?.message).toBe(
    'hcnOpenEndpoint failed in Win32: Element not found. (0x490)',
  )
})

test('success with a record is a failure, and without one it is none', () => {
  expect(failureOf('hcnDeleteEndpoint', 0, '')).toBeUndefined()
  expect(failureOf('hcnDeleteEndpoint', 1, '')).toBeUndefined()
  expect(failureOf('hcnDeleteEndpoint', 0, '{"Success":false}')).toMatchObject({
    message:
      'hcnDeleteEndpoint failed in Win32: A device attached to the system is not functioning. (0x1f) {"Success":false}',
    reason: 'refused',
    hresult: 0x8007001f,
  })
})

test('a code that nobody knows is told in the words of the record', () => {
  const record = '{"Success":false,"Error":"The moon is full. ","ErrorCode":2151350527}'
  expect(failureOf('hcnModifyLoadBalancer', 0x803b00ff, record)?.message).toBe(
    `hcnModifyLoadBalancer failed in Win32: The moon is full. (0x803b00ff) ${record}`,
  )
  expect(failureOf('hcnModifyLoadBalancer', 0x803b00ff, 'no JSON')?.message).toBe(
    'hcnModifyLoadBalancer failed in Win32: Unknown error. (0x803b00ff) no JSON',
  )
})

test.each([
  [hresult.elementNotFound, 'not-found'],
  [hresult.networkNotFound, 'not-found'],
  [hresult.endpointNotFound, 'not-found'],
  [hresult.portNotFound, 'not-found'],
  [hresult.switchPortNotFound, 'refused'],
  [hresult.policyInvalid, 'refused'],
  [hresult.invalidParameter, 'refused'],
  [hresult.alreadyExists, 'already-exists'],
  [hresult.notImplemented, 'not-implemented'],
  [hresult.rpcUnavailable, 'unavailable'],
  [hresult.accessDenied, 'unavailable'],
  [hresult.outOfMemory, 'unavailable'],
  // RPC, as a code of Win32 and in a facility of its own.
  [0x800706be, 'unavailable'],
  [0x800706bf, 'unavailable'],
  [0x80010108, 'unavailable'],
  // The service is disabled, is not started, was never started; the system shuts down.
  [0x80070422, 'unavailable'],
  [0x80070426, 'unavailable'],
  [0x80070435, 'unavailable'],
  [0x8007045b, 'unavailable'],
  // It works, and does not take this one.
  [hresult.generalFailure, 'refused'],
  [0x80004005, 'refused'],
  [0x8007000d, 'refused'],
  [0x8000ffff, 'refused'],
  [0x80070600, 'refused'],
] as const)('%i means %s', (code, reason) => {
  expect(failureOf('hcnOpenNetwork', code, '')?.reason).toBe(reason)
})
