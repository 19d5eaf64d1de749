/**
 * The service control manager of Windows, through advapi32.dll.
 *
 * `StartServiceCtrlDispatcherW` keeps its thread until the service has stopped, so it gets one of Node's worker threads.
 * Windows calls back on threads of its own, which wait until the JavaScript thread has run the callback. So nothing here
 * may take long: the manager gives up on a control after 30 seconds.
 */
import { join } from 'node:path'
import koffi from 'koffi'
import { WindowsServiceError } from './windows-service.ts'
import type { ManagedService, ServiceManager, ServiceStatus, StopControl } from './windows-service.ts'

type Main = (argc: number, argv: unknown) => void
type Handler = (control: number) => number
type Callback = (error: Error | null, result: number) => void

/** The manager does not compare it for a service that has its process to itself; it is the name that kube-proxy uses. */
const serviceName = 'kube-proxy'

const ownProcess = 0x10
const stateNumbers = { stopped: 1, 'start-pending': 2, 'stop-pending': 3, running: 4 } as const
/** STOP, SHUTDOWN, PARAMCHANGE and PRESHUTDOWN. */
const acceptedControls = 0x1 | 0x4 | 0x8 | 0x100
const stopControls: ReadonlyMap<number, StopControl> = new Map([
  [1, 'stop'],
  [5, 'shutdown'],
  [0xf, 'preshutdown'],
])
/** INTERROGATE and PARAMCHANGE: the answer is the state as it is. */
const questions: ReadonlySet<number> = new Set([4, 6])

const noError = 0
const callNotImplemented = 120
/** The exit code is ours, not one of Windows. */
const serviceSpecificError = 1066

export function nativeServiceManager(): ServiceManager {
  const api = loadApi()
  return {
    async connect(onStop) {
      const { promise: started, resolve: onStarted, reject: onFailed } = deferred<ManagedService>()
      const { promise: released, resolve: onReleased } = deferred<void>()
      let handle: unknown
      let last: ServiceStatus = { state: 'start-pending', checkpoint: 0, waitHintMs: 30_000 }
      const report = (status: ServiceStatus) => {
        last = status
        api.setStatus(handle, statusRecord(status))
      }
      const handler = api.handler((control) => {
        const stop = stopControls.get(control)
        if (stop === undefined && !questions.has(control)) return callNotImplemented
        if (stop === undefined) report(last)
        else onStop(stop)
        return noError
      })
      const main = api.main(() => {
        handle = api.registerHandler(serviceName, handler, null)
        if (handle === null) return onFailed(failed('the handler for controls is refused'))
        report(last)
        onStarted({ report, released })
      })
      const table = [
        { name: serviceName, main },
        { name: null, main: null },
      ]
      api.dispatch.async(table, (error, result) => {
        if (error !== null) onFailed(failed(error.message))
        // Without effect if it has started: then this is the end of the service.
        else if (result === 0) onFailed(notStarted())
        onReleased()
      })
      return started
    },
  }
}

function loadApi() {
  const advapi = koffi.load(join(process.env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'advapi32.dll'))
  const mainType = koffi.proto('void __stdcall ServiceMain(uint32_t argc, void *argv)')
  const handlerType = koffi.proto(
    'uint32_t __stdcall ServiceHandler(uint32_t control, uint32_t eventType, void *eventData, void *context)',
  )
  const entry = koffi.struct('SERVICE_TABLE_ENTRYW', { name: 'str16', main: koffi.pointer(mainType) })
  const status = koffi.struct('SERVICE_STATUS', {
    type: 'uint32_t',
    state: 'uint32_t',
    acceptedControls: 'uint32_t',
    exitCode: 'uint32_t',
    specificExitCode: 'uint32_t',
    checkpoint: 'uint32_t',
    waitHintMs: 'uint32_t',
  })
  return {
    // Registered for as long as the process lives: Windows may call them at any time.
    main: (main: Main) => koffi.register(main, koffi.pointer(mainType)),
    handler: (handler: Handler) => koffi.register(handler, koffi.pointer(handlerType)),
    dispatch: advapi.func('__stdcall', 'StartServiceCtrlDispatcherW', 'int', [koffi.pointer(entry)]) as unknown as {
      async(table: readonly unknown[], done: Callback): void
    },
    registerHandler: advapi.func('__stdcall', 'RegisterServiceCtrlHandlerExW', 'void *', [
      'str16',
      koffi.pointer(handlerType),
      'void *',
    ]) as (name: string, handler: unknown, context: null) => unknown,
    setStatus: advapi.func('__stdcall', 'SetServiceStatus', 'int', ['void *', koffi.pointer(status)]) as (
      handle: unknown,
      status: Readonly<Record<string, number>>,
    ) => number,
  }
}

function statusRecord(status: ServiceStatus): Readonly<Record<string, number>> {
  const isPending = status.state === 'start-pending' || status.state === 'stop-pending'
  const exitCode = status.state === 'stopped' ? status.exitCode : 0
  return {
    type: ownProcess,
    state: stateNumbers[status.state],
    acceptedControls: status.state === 'running' ? acceptedControls : 0,
    exitCode: exitCode === 0 ? noError : serviceSpecificError,
    specificExitCode: exitCode,
    checkpoint: isPending ? status.checkpoint : 0,
    waitHintMs: isPending ? status.waitHintMs : 0,
  }
}

function notStarted(): WindowsServiceError {
  return new WindowsServiceError(
    'not-a-service',
    '--windows-service is for a process that Windows starts as a service, and this one was not: started by hand, in a ' +
      'container or by NSSM? Leave the flag out',
  )
}

function failed(why: string): WindowsServiceError {
  return new WindowsServiceError('failed', `cannot become a service of Windows: ${why}`)
}

function deferred<Value>() {
  let resolve!: (value: Value) => void
  let reject!: (error: Error) => void
  const promise = new Promise<Value>((onValue, onError) => {
    resolve = onValue
    reject = onError
  })
  return { promise, resolve, reject }
}
