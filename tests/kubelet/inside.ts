/**
 * The part of the test program that has namespaces of its own, as main.ts starts it: makes a cluster, runs the suite
 * against it, and ends. Its end is the end of every process, mount and interface of the cluster.
 */
import { join } from 'node:path'
import { startCluster } from './cluster/cluster.ts'
import { stateFolder } from './cluster/hub.ts'
import { saveSystemLogs } from './cluster/system-logs.ts'
import { parseTask } from './task.ts'
import { proxies } from './proxies/proxies.ts'
import { runSuite } from './suite.ts'

// One listener for each server that must not outlive this process.
process.setMaxListeners(100)

const task = parseTask(process.argv[2] ?? '')
const proxy = proxies.find(({ name }) => name === task.proxy)
if (proxy === undefined) throw new Error(`no such proxy: ${task.proxy}`)

const started = performance.now()
try {
  const cluster = await startCluster({ ...task, proxy, logFolder: task.resultFolder })
  const seconds = Math.round((performance.now() - started) / 1000)
  process.stdout.write(`e2e: ${task.nodeCount} nodes with ${task.proxy} are ready after ${seconds} s\n`)
  if (task.suite === undefined) await holdCluster()
  else {
    await runSuite(cluster.controlPlane, { ...task, ...task.suite })
    await saveSystemLogs(cluster.controlPlane.kubectl, task.resultFolder)
  }
  process.exit(0)
} catch (error) {
  process.stderr.write(`e2e: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}

/** Until a signal ends this process. */
async function holdCluster(): Promise<never> {
  process.stdout.write(`e2e: the cluster runs until Ctrl-C. In another terminal:
  nsenter --target $(pgrep --full --newest tests/kubelet/inside.ts) --mount --net --pid \\
    kubectl --kubeconfig ${join(stateFolder, 'admin.kubeconfig')} get pods --all-namespaces --output wide
`)
  // An hour more, again and again: without a timer Node.js would see nothing left to wait for.
  return new Promise(() => setInterval(() => {}, 3_600_000))
}
