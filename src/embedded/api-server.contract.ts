/**
 * What clients may rely on. It holds for the embedded server and for a real kube-apiserver, so the tests check what
 * both promise: codes, reasons, events and their order, not the wording of every message.
 */
import { afterAll, beforeAll, describe } from 'vitest'
import { createContract } from './verbs/create.contract.ts'
import { deleteContract } from './verbs/delete.contract.ts'
import { listContract } from './verbs/list.contract.ts'
import { updateContract } from './verbs/update.contract.ts'
import { discoveryContract } from './discovery/discovery.contract.ts'
import { ContractApi } from './testing/contract-api.ts'
import type { ContractServer } from './testing/contract-api.ts'
import { watchContract } from './watch/watch.contract.ts'

export function apiServerContract(name: string, start: () => Promise<ContractServer>): void {
  describe(`API server: ${name}`, () => {
    const api = new ContractApi()
    beforeAll(() => api.start(start))
    afterAll(() => api[Symbol.asyncDispose]())

    createContract(api)
    listContract(api)
    updateContract(api)
    deleteContract(api)
    watchContract(api)
    discoveryContract(api)
  })
}
