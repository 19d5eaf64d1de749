/** The definition of PodMonitors as the Prometheus Operator publishes it, from its Go module. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'

const operator = {
  module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
  sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
}

export async function podMonitorDefinition(): Promise<object> {
  // Where the official archive puts Go; not every test runner's PATH has it.
  const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/local/go/bin`, GOFLAGS: '' }
  // Outside of any module: nothing here depends on it.
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', operator.module], {
    env,
    cwd: tmpdir(),
  })
  const { Dir, Sum } = JSON.parse(stdout) as { readonly Dir: string; readonly Sum: string }
  if (Sum !== operator.sum) throw new Error(`${operator.module} has the sum ${Sum} instead of ${operator.sum}`)
  const file = 'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml'
  return parse(await readFile(join(Dir, file), 'utf8')) as object
}
