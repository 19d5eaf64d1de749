/** A child process that uses the real Sysctl in its own namespaces, as its parent asks. */
import { fileSysctl } from '../file-sysctl.ts'
import { SysctlError } from '../sysctl.ts'
import type { SysctlRequest, SysctlResponse } from './namespaced-sysctl.ts'

const sysctl = fileSysctl({ root: process.argv[2] ?? '/proc/sys' })

process.on('message', (request: SysctlRequest) => void answer(request))
process.send?.({ kind: 'ready' } satisfies SysctlResponse)

async function answer(request: SysctlRequest): Promise<void> {
  process.send?.(await perform(request))
}

async function perform(request: SysctlRequest): Promise<SysctlResponse> {
  if (request.kind === 'read') return { kind: 'value', value: await sysctl.read(request.path) }
  try {
    await sysctl.write(request.path, request.value)
    return { kind: 'done' }
  } catch (error) {
    if (!(error instanceof SysctlError)) throw error
    return { kind: 'refused', reason: error.reason, message: error.message }
  }
}
