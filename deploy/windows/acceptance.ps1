#Requires -Version 5.1
#Requires -RunAsAdministrator
<#
.SYNOPSIS
Checks Fairlead on a real Windows node, and prints pass or fail for each behaviour.

.DESCRIPTION
Run it on the node, after Fairlead was installed there. It needs kubectl and a kubeconfig that may make a namespace with pods
and Services. It makes a namespace of its own, and removes it at the end.

The exit code is 0 when nothing failed. Each failed check says what to look at. A check that cannot be done here is skipped, with
the reason.

-OtherNode names another node of the cluster, Windows or Linux. Without it, checks of traffic from outside and of the policies
Local are skipped.

-Disruptive also does what takes Services away from the node for some seconds: stopping Fairlead, and fairlead --cleanup.

.EXAMPLE
.\acceptance.ps1 -Kubeconfig C:\k\config -Image REGISTRY/agnhost:2.53 -NetworkName cbr0 -OtherNode linux-1

.EXAMPLE
.\acceptance.ps1 -Kubeconfig C:\k\config -Image REGISTRY/agnhost:2.53 -NetworkName cbr0 -Only drift, restart
#>
[CmdletBinding()]
param(
    [string]$Kubeconfig = $env:KUBECONFIG,
    # agnhost, the test image of Kubernetes, with its program netexec. Give the registry that your nodes use.
    [string]$Image = '',
    [string]$Kubectl = 'kubectl.exe',
    [string]$Namespace = "fairlead-acceptance-$PID",
    [string]$NodeName = [System.Net.Dns]::GetHostName().ToLowerInvariant(),
    [string]$OtherNode = '',
    # The HNS network of the pods.
    [string]$NetworkName = $env:KUBE_NETWORK,
    # A KubeProxyConfiguration, if Fairlead runs with one.
    [string]$Config = '',
    # The folder with node.exe and bin\fairlead.js. By default the one that fairlead.ps1 installed.
    [string]$Folder = '',
    [string]$StateDir = (Join-Path $env:ProgramData 'fairlead'),
    [int]$HealthPort = 10256,
    [int]$MetricsPort = 10249,
    [switch]$Disruptive,
    # Names of checks to do, and of checks to leave out.
    [string[]]$Only = @(),
    [string[]]$Skip = @()
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

# Fairlead and kubectl write UTF-8.
try { [Console]::OutputEncoding = [System.Text.Encoding]::UTF8 } catch { Write-Verbose 'There is no console.' }

# Checks that need no pods.
$Alone = @('windows', 'hns', 'library', 'network', 'health', 'mode', 'degraded', 'named-pipe', 'service')
$NeedsPods = $Only.Count -eq 0 -or @($Only | Where-Object { $Alone -notcontains $_ }).Count -gt 0
if ($NeedsPods -and ($Image -eq '' -or "$Kubeconfig" -eq '')) {
    Write-Host 'Give -Kubeconfig and -Image, or choose checks that need no pods: -Only hns, library' -ForegroundColor Red
    exit 2
}

$script:Passed = 0
$script:Failed = 0
$script:Skipped = 0
$Work = Join-Path $env:TEMP "fairlead-acceptance-$PID"
New-Item -ItemType Directory -Path $Work -Force | Out-Null

# ---------------------------------------------------------------- how a check is done

# A check passes if it ends, fails if it throws, and is skipped if it throws what Stop-Check makes.
function Invoke-Check {
    param([string]$Name, [string]$What, [string]$LookAt, [scriptblock]$Body)
    if ($Only.Count -gt 0 -and $Only -notcontains $Name) { return }
    if ($Skip -contains $Name) {
        Write-Result 'SKIP' $Name "$What (left out with -Skip)"
        return
    }
    try {
        $note = & $Body
        $more = ''
        if ($null -ne $note) { $more = " ($(@($note) -join '; '))" }
        Write-Result 'PASS' $Name "$What$more"
    }
    catch {
        $message = $_.Exception.Message
        if ($message.StartsWith('skip: ')) {
            Write-Result 'SKIP' $Name "$What ($($message.Substring(6)))"
            return
        }
        Write-Result 'FAIL' $Name "$What"
        Write-Host "        because: $message"
        Write-Host "        look at: $LookAt"
    }
}

function Write-Result {
    param([string]$Verdict, [string]$Name, [string]$Text)
    $color = 'Green'
    switch ($Verdict) {
        'PASS' { $script:Passed++ }
        'FAIL' { $script:Failed++; $color = 'Red' }
        'SKIP' { $script:Skipped++; $color = 'Yellow' }
    }
    Write-Host $Verdict -ForegroundColor $color -NoNewline
    Write-Host ("  {0,-22} {1}" -f $Name, $Text)
}

function Stop-Check {
    param([string]$Reason)
    throw "skip: $Reason"
}

# Tries until the body returns something true; returns that. The last reason is part of the error.
function Wait-Until {
    param([string]$What, [int]$Seconds, [scriptblock]$Body)
    $deadline = (Get-Date).AddSeconds($Seconds)
    $reason = 'it was not so'
    while ($true) {
        try {
            $found = & $Body
            if ($found) { return $found }
        }
        catch {
            if ($_.Exception.Message.StartsWith('skip: ')) { throw }
            $reason = $_.Exception.Message
        }
        if ((Get-Date) -gt $deadline) { throw "$What, not within $Seconds s: $reason" }
        Start-Sleep -Milliseconds 500
    }
}

# ---------------------------------------------------------------- programs

function Invoke-Program {
    param([string]$File, [string[]]$Arguments)
    # What a program writes to stderr comes as error records, and must not end the script.
    $ErrorActionPreference = 'Continue'
    $all = @(& $File @Arguments 2>&1)
    $code = $LASTEXITCODE
    $lines = @($all | Where-Object { $_ -isnot [System.Management.Automation.ErrorRecord] } | ForEach-Object { "$_" })
    $errors = @($all | Where-Object { $_ -is [System.Management.Automation.ErrorRecord] } | ForEach-Object { "$_" })
    return [pscustomobject]@{ Code = $code; Lines = $lines; Text = ($lines -join "`n"); Errors = ($errors -join ' ') }
}

function Invoke-Kubectl {
    param([string[]]$Arguments)
    $done = Invoke-Program $Kubectl (@("--kubeconfig=$Kubeconfig") + $Arguments)
    if ($done.Code -ne 0) { throw "kubectl $($Arguments -join ' '): $($done.Errors)" }
    return $done.Text
}

function Get-FairleadFolder {
    if ($Folder -ne '') { return $Folder }
    $settings = Join-Path $StateDir 'install.json'
    if (-not (Test-Path -LiteralPath $settings)) {
        Stop-Check 'where Fairlead lies is not known: give -Folder'
    }
    $version = (Get-Content -LiteralPath $settings -Raw | ConvertFrom-Json).Version
    return Join-Path (Join-Path (Join-Path $env:ProgramFiles 'Fairlead') 'versions') $version
}

function Invoke-Fairlead {
    param([string[]]$Arguments)
    $place = Get-FairleadFolder
    return Invoke-Program (Join-Path $place 'node.exe') (@((Join-Path $place 'bin\fairlead.js')) + $Arguments)
}

# Objects go through a file: Windows PowerShell loses quotation marks on the way to a program.
function Publish-Objects {
    param([string]$Yaml)
    $file = Join-Path $Work 'objects.yaml'
    [System.IO.File]::WriteAllText($file, $Yaml)
    Invoke-Kubectl @('apply', '-f', $file) | Out-Null
}

function Get-HttpText {
    param([string]$Url)
    $request = [System.Net.WebRequest]::Create($Url)
    $request.Proxy = $null
    $request.Timeout = 5000
    try { $response = $request.GetResponse() }
    catch {
        # An answer such as 503 must be closed, too: there is room for two connections only.
        $failure = $_.Exception.GetBaseException()
        if ($failure -is [System.Net.WebException] -and $null -ne $failure.Response) { $failure.Response.Close() }
        throw "${Url}: $($failure.Message)"
    }
    try {
        $reader = New-Object System.IO.StreamReader($response.GetResponseStream())
        return $reader.ReadToEnd()
    }
    finally { $response.Close() }
}

# ---------------------------------------------------------------- HNS

Add-Type -TypeDefinition @'
using System;
using System.Runtime.InteropServices;

public static class FairleadAcceptance
{
    [DllImport("vmcompute.dll", CharSet = CharSet.Unicode, ExactSpelling = true)]
    [DefaultDllImportSearchPaths(DllImportSearchPath.System32)]
    public static extern int HNSCall(string method, string path, string request,
        [MarshalAs(UnmanagedType.LPWStr)] out string response);

    [DllImport("kernel32.dll", CharSet = CharSet.Unicode, SetLastError = true)]
    static extern IntPtr LoadLibraryEx(string name, IntPtr reserved, uint flags);

    [DllImport("kernel32.dll", CharSet = CharSet.Ansi, ExactSpelling = true)]
    static extern IntPtr GetProcAddress(IntPtr library, string name);

    // Found in System32 only, as Fairlead does.
    public static bool Exports(string library, string name)
    {
        IntPtr handle = LoadLibraryEx(library, IntPtr.Zero, 0x800);
        return handle != IntPtr.Zero && GetProcAddress(handle, name) != IntPtr.Zero;
    }
}
'@

# The old API of HNS. Returns what it puts out; throws what it complains about.
function Invoke-Hns {
    param([string]$Method, [string]$Path, [string]$Request = '')
    $response = ''
    $code = [FairleadAcceptance]::HNSCall($Method, $Path, $Request, [ref]$response)
    if ($code -ne 0) { throw ('HNS: {0} {1} failed with 0x{2:x8}' -f $Method, $Path, $code) }
    if ([string]::IsNullOrEmpty($response)) { return $null }
    $answer = $response | ConvertFrom-Json
    if (-not $answer.Success) { throw "HNS: $Method $Path failed: $(Get-Value $answer 'Error')" }
    return Get-Value $answer 'Output'
}

# A member that may be missing: HNS leaves out what is empty.
function Get-Value {
    param($Object, [string]$Name)
    if ($null -eq $Object) { return $null }
    $property = $Object.PSObject.Properties[$Name]
    if ($null -eq $property) { return $null }
    return $property.Value
}

function Get-HnsVersion {
    $version = Invoke-Hns 'GET' '/globals/version'
    return New-Object Version ([int]$version.Major), ([int]$version.Minor)
}

# As Fairlead reads the version.
function Test-Feature {
    param([Version]$Version, [string]$Feature)
    switch ($Feature) {
        'V2' { return $Version -ge [Version]'9.2' }
        'DSR' { return ($Version.Major -eq 9 -and $Version -ge [Version]'9.3') -or $Version -ge [Version]'10.2' }
        'DualStack' { return $Version -ge [Version]'11.10' }
        'Affinity' { return $Version -ge [Version]'12.0' }
        'Modify' { return $Version -ge [Version]'15.5' }
    }
    throw "unknown feature $Feature"
}

# All load balancers of the node: id, VIP, protocol, ports, number of endpoints, state.
function Get-LoadBalancers {
    $found = @()
    foreach ($list in @(Invoke-Hns 'GET' '/policylists/')) {
        if ($null -eq $list) { continue }
        foreach ($policy in @(Get-Value $list 'Policies')) {
            if ($null -eq $policy -or (Get-Value $policy 'Type') -ne 'ELB') { continue }
            $vip = ''
            $vips = @(Get-Value $policy 'VIPs' | Where-Object { $_ })
            if ($vips.Count -gt 0) { $vip = [string]$vips[0] }
            $found += [pscustomobject]@{
                Id = ([string]$list.ID).ToLowerInvariant(); Vip = $vip
                Protocol = [int](Get-Value $policy 'Protocol')
                ExternalPort = [int](Get-Value $policy 'ExternalPort')
                Endpoints = @(Get-Value $list 'References' | Where-Object { $_ }).Count
                State = [int](Get-Value $list 'State')
            }
        }
    }
    return $found
}

function Get-LoadBalancersOf {
    param([string]$Vip)
    return @(Get-LoadBalancers | Where-Object { $_.Vip -eq $Vip })
}

# ---------------------------------------------------------------- the daemon

function Get-ProxyMode {
    return (Get-HttpText "http://127.0.0.1:$MetricsPort/proxyMode").Trim()
}

function Assert-Kernelspace {
    $mode = Get-ProxyMode
    if ($mode -ne 'kernelspace') { Stop-Check "the mode is $mode" }
}

function Wait-Healthy {
    Wait-Until 'Fairlead is healthy and has synced' 180 {
        Get-HttpText "http://127.0.0.1:$HealthPort/livez" | Out-Null
        $metrics = Get-HttpText "http://127.0.0.1:$MetricsPort/metrics"
        $metrics -match '(?m)^kubeproxy_sync_proxy_rules_last_timestamp_seconds(\{[^}]*\})? [1-9]'
    } | Out-Null
}

# The Windows services of Fairlead, core first; none if it runs as a pod.
function Get-FairleadServices {
    return @(Get-Service -Name 'fairlead', 'fairlead-core', 'fairlead-backend' -ErrorAction SilentlyContinue |
            Sort-Object { [array]::IndexOf(@('fairlead', 'fairlead-core', 'fairlead-backend'), $_.Name) })
}

function Stop-Fairlead {
    $services = @(Get-FairleadServices)
    if ($services.Count -eq 0) { Stop-Check 'Fairlead is no Windows service here' }
    [array]::Reverse($services)
    foreach ($service in $services) {
        Stop-Service -Name $service.Name -Force
        (Get-Service -Name $service.Name).WaitForStatus('Stopped', [TimeSpan]::FromSeconds(60))
    }
}

function Start-Fairlead {
    # Does not wait for each; Wait-Healthy does.
    foreach ($service in @(Get-FairleadServices)) { if ($service.Status -ne 'Running') { $service.Start() } }
    Wait-Healthy
}

function Restart-Fairlead {
    if (@(Get-FairleadServices).Count -gt 0) {
        Stop-Fairlead
        Start-Fairlead
        return
    }
    Invoke-Kubectl @('delete', 'pod', '-n', 'kube-system', '-l', 'app.kubernetes.io/name=fairlead-windows',
        '--field-selector', "spec.nodeName=$NodeName", '--wait=true') | Out-Null
    # Until the old process is gone, its health would be taken for that of the new one.
    Start-Sleep -Seconds 5
    Wait-Healthy
}

# ---------------------------------------------------------------- the test application

function Get-PodYaml {
    param([string]$Name, [string]$App, [string]$Node)
    return @"
apiVersion: v1
kind: Pod
metadata:
  name: $Name
  labels: { app: $App }
spec:
  nodeName: $Node
  terminationGracePeriodSeconds: 1
  tolerations: [{ operator: Exists }]
  containers:
    - name: netexec
      image: $Image
      args: [netexec, --http-port=8080, --udp-port=8081]
      readinessProbe: { httpGet: { path: /hostname, port: 8080 }, periodSeconds: 1 }
---
"@ + "`n"
}

function Get-ServiceYaml {
    param([string]$Name, [string]$App, [string]$More)
    return @"
apiVersion: v1
kind: Service
metadata:
  name: $Name
spec:
  selector: { app: $App }
$More
  ports:
    - { name: http, port: 80, targetPort: 8080, protocol: TCP }
    - { name: udp, port: 81, targetPort: 8081, protocol: UDP }
---
"@ + "`n"
}

function Initialize-Application {
    $labels = 'labels: { pod-security.kubernetes.io/enforce: privileged }'
    Publish-Objects "apiVersion: v1`nkind: Namespace`nmetadata:`n  name: $Namespace`n  $labels`n"
    $yaml = (Get-PodYaml 'web-1' 'web' $NodeName) + (Get-PodYaml 'web-2' 'web' $NodeName) + (Get-PodYaml 'client' 'client' $NodeName)
    if ($OtherNode -ne '') {
        $yaml += (Get-PodYaml 'web-far' 'spread' $OtherNode) + (Get-PodYaml 'web-near' 'spread' $NodeName)
        $yaml += Get-PodYaml 'far-client' 'client' $OtherNode
    }
    $yaml += Get-ServiceYaml 'web' 'web' '  type: NodePort'
    $yaml += Get-ServiceYaml 'sticky' 'web' '  sessionAffinity: ClientIP'
    $yaml += Get-ServiceYaml 'spread' 'spread' ''
    $yaml += Get-ServiceYaml 'near' 'spread' '  internalTrafficPolicy: Local'
    $yaml += Get-ServiceYaml 'outside' 'spread' "  type: NodePort`n  externalTrafficPolicy: Local"
    $file = Join-Path $Work 'application.yaml'
    [System.IO.File]::WriteAllText($file, $yaml)
    Invoke-Kubectl @('apply', '-n', $Namespace, '-f', $file) | Out-Null
    Invoke-Kubectl @('wait', '-n', $Namespace, '--for=condition=Ready', 'pod', '--all', '--timeout=600s') | Out-Null
}

function Get-Object {
    param([string]$Kind, [string]$Name)
    return (Invoke-Kubectl @('get', $Kind, $Name, '-n', $Namespace, '-o', 'json')) | ConvertFrom-Json
}

function Get-NodeIp {
    param([string]$Node)
    $addresses = @((Get-Object 'node' $Node).status.addresses)
    return [string]@($addresses | Where-Object { $_.type -eq 'InternalIP' })[0].address
}

# Asks netexec in a pod to ask an address so many times. Returns who answered.
function Get-Answers {
    param([string]$From, [string]$Address, [int]$Port, [string]$Protocol = 'http', [int]$Tries = 10, [string]$Request = 'hostname')
    $query = "host=$Address&port=$Port&request=$Request&protocol=$Protocol&tries=$Tries"
    $program = 'curl'
    if ($From -ne 'far-client' -or (Get-Object 'node' $OtherNode).status.nodeInfo.operatingSystem -eq 'windows') { $program = 'curl.exe' }
    $text = Invoke-Kubectl @('exec', '-n', $Namespace, $From, '--', $program, '-s', "http://127.0.0.1:8080/dial?$query")
    $answer = $text | ConvertFrom-Json
    $responses = @(Get-Value $answer 'responses' | Where-Object { $_ })
    if ($responses.Count -eq 0) {
        throw "nobody answered at ${Address}:$Port ($Protocol): $(@(Get-Value $answer 'errors') -join ', ')"
    }
    return @($responses | ForEach-Object { "$_" } | Sort-Object -Unique)
}

function Assert-Answers {
    param([string[]]$Found, [string[]]$Wanted)
    $foundText = @($Found | Sort-Object) -join ', '
    $wantedText = @($Wanted | Sort-Object) -join ', '
    if ($foundText -ne $wantedText) { throw "answers came from $foundText, and should come from $wantedText" }
}

function Get-ClusterIp {
    param([string]$Service)
    return [string](Get-Object 'service' $Service).spec.clusterIP
}

function Get-NodePort {
    param([string]$Service, [string]$Port)
    return [int]@((Get-Object 'service' $Service).spec.ports | Where-Object { $_.name -eq $Port })[0].nodePort
}

# From another node if there is one: not every network lets a pod reach a node port of its own node.
function Get-Outsider {
    if ($OtherNode -ne '') { return 'far-client' }
    return 'client'
}

# ---------------------------------------------------------------- a load balancer of somebody else

# An address for benchmarks (RFC 2544) that no Service has.
$ForeignVip = '198.18.77.77'

function New-ForeignLoadBalancer {
    $pod = (Get-Object 'pod' 'web-1').status.podIP
    $endpoint = @(Invoke-Hns 'GET' '/endpoints/' | Where-Object { (Get-Value $_ 'IPAddress') -eq $pod })
    if ($endpoint.Count -eq 0) { throw "HNS has no endpoint with the address $pod of pod web-1" }
    $request = '{"References":["/endpoints/' + $endpoint[0].ID + '"],"Policies":[{"Type":"ELB","VIPs":["' + $ForeignVip +
        '"],"Protocol":6,"InternalPort":8080,"ExternalPort":4242}]}'
    Invoke-Hns 'POST' '/policylists/' $request | Out-Null
}

function Remove-ForeignLoadBalancer {
    foreach ($balancer in @(Get-LoadBalancersOf $ForeignVip)) { Invoke-Hns 'DELETE' "/policylists/$($balancer.Id)" | Out-Null }
}

function Assert-Foreign {
    if (@(Get-LoadBalancersOf $ForeignVip).Count -ne 1) { throw "the load balancer of somebody else ($ForeignVip) is gone" }
}

# ---------------------------------------------------------------- checks

$docs = 'docs/windows.md, Troubleshooting'
$logs = "the log ($StateDir\logs, or kubectl logs), and http://127.0.0.1:$HealthPort/healthz?verbose"
$objects = 'hnsdiag list loadbalancers -d, Get-HnsEndpoint, and ' + $logs

function Invoke-HostChecks {
    Invoke-Check 'windows' 'Windows Server 2019 or newer' 'winver' {
        $build = [System.Environment]::OSVersion.Version.Build
        if ($build -lt 17763) { throw "this is build $build" }
        "build $build"
    }
    Invoke-Check 'hns' 'HNS runs and answers' "Get-Service hns; Restart-Service hns; $docs" {
        if ((Get-Service -Name 'hns').Status -ne 'Running') { throw 'the service hns does not run' }
        $version = Get-HnsVersion
        if (-not (Test-Feature $version 'V2')) { throw "HNS $version is too old: 9.2 is needed" }
        $features = @('DSR', 'DualStack', 'Affinity', 'Modify' | Where-Object { Test-Feature $version $_ })
        "HNS $version", "can do: $($features -join ', ')"
    }
    Invoke-Check 'library' 'the system library has every function that Fairlead calls' 'Windows updates; the feature Containers' {
        $names = foreach ($kind in 'Network', 'Endpoint', 'LoadBalancer') {
            "HcnEnumerate${kind}s", "HcnOpen$kind", "HcnQuery${kind}Properties", "HcnClose$kind"
        }
        $names += 'HcnCreateEndpoint', 'HcnCreateLoadBalancer', 'HcnDeleteEndpoint', 'HcnDeleteLoadBalancer'
        $missing = @($names | Where-Object { -not [FairleadAcceptance]::Exports('computenetwork.dll', $_) })
        if ($missing.Count -gt 0) { throw "computenetwork.dll lacks $($missing -join ', ')" }
        if (-not [FairleadAcceptance]::Exports('computenetwork.dll', 'HcnModifyLoadBalancer')) {
            'without HcnModifyLoadBalancer: load balancers are replaced, not changed'
        }
    }
    Invoke-Check 'network' 'the HNS network of the pods is there' 'Get-HnsNetwork; the CNI; --network-name, or winkernel.networkName' {
        if ([string]::IsNullOrEmpty($NetworkName)) { Stop-Check 'give -NetworkName' }
        $networks = @(Invoke-Hns 'GET' '/networks/')
        $network = @($networks | Where-Object { $_.Name -eq $NetworkName })
        if ($network.Count -eq 0) {
            throw "there is no network $NetworkName, only $(@($networks | ForEach-Object { $_.Name }) -join ', ')"
        }
        "$($network[0].Type)"
    }
}

function Invoke-DaemonChecks {
    Invoke-Check 'health' 'Fairlead is healthy, and has synced' $logs { Wait-Healthy }
    Invoke-Check 'mode' 'it says which mode it runs in' "http://127.0.0.1:$MetricsPort/proxyMode" {
        $mode = Get-ProxyMode
        if ($mode -ne 'kernelspace' -and $mode -ne 'userspace') { throw "it says: $mode" }
        $mode
    }
    Invoke-Check 'degraded' 'no load balancer in HNS is degraded' "hnsdiag list loadbalancers -d; $docs" {
        $degraded = @(Get-LoadBalancers | Where-Object { $_.State -eq 4 } | ForEach-Object { "$($_.Vip):$($_.ExternalPort)" })
        if ($degraded.Count -gt 0) { throw "degraded: $($degraded -join ', ')" }
    }
    Invoke-Check 'named-pipe' 'a core and a backend talk over a named pipe' 'docs/kpng.md, Named pipes on Windows' {
        if ("$Kubeconfig" -eq '') { Stop-Check 'give -Kubeconfig' }
        $pipe = "npipe:////./pipe/ProtectedPrefix/Administrators/fairlead-acceptance-$PID"
        $place = Get-FairleadFolder
        $arguments = @("`"$(Join-Path $place 'bin\fairlead.js')`"", 'kube', 'to-api', "--listen=$pipe", "--kubeconfig=`"$Kubeconfig`"")
        $core = Start-Process -FilePath (Join-Path $place 'node.exe') -ArgumentList $arguments -PassThru -WindowStyle Hidden `
            -RedirectStandardError (Join-Path $Work 'core.txt') -RedirectStandardOutput (Join-Path $Work 'core-out.txt')
        try {
            Wait-Until 'the core answers' 60 {
                if ($core.HasExited) { throw "the core ended: $(Get-Content -LiteralPath (Join-Path $Work 'core.txt') -Raw)" }
                $done = Invoke-Fairlead @('api', 'to-local', '--once', "--api=$pipe", "--node-name=$NodeName")
                if ($done.Code -ne 0) { throw $done.Errors }
                $done.Text.Contains('kubernetes')
            } | Out-Null
        }
        finally { if (-not $core.HasExited) { $core.Kill() } }
    }
}

function Invoke-TrafficChecks {
    Invoke-Check 'cluster-ip-tcp' 'a cluster IP works over TCP, and reaches both endpoints' $objects {
        Wait-Until 'both endpoints answer' 60 {
            Assert-Answers (Get-Answers 'client' (Get-ClusterIp 'web') 80 'http' 30) @('web-1', 'web-2')
            $true
        } | Out-Null
    }
    Invoke-Check 'cluster-ip-udp' 'a cluster IP works over UDP' $objects {
        $found = Wait-Until 'an endpoint answers' 60 { Get-Answers 'client' (Get-ClusterIp 'web') 81 'udp' 10 }
        "answers from $(@($found) -join ', ')"
    }
    Invoke-Check 'node-port-tcp' 'a node port works over TCP' "$objects; the firewall" {
        $found = Wait-Until 'an endpoint answers' 60 { Get-Answers (Get-Outsider) (Get-NodeIp $NodeName) (Get-NodePort 'web' 'http') }
        "from $(Get-Outsider)", "answers from $(@($found) -join ', ')"
    }
    Invoke-Check 'node-port-udp' 'a node port works over UDP' "$objects; the firewall" {
        $found = Wait-Until 'an endpoint answers' 60 { Get-Answers (Get-Outsider) (Get-NodeIp $NodeName) (Get-NodePort 'web' 'udp') 'udp' }
        "from $(Get-Outsider)", "answers from $(@($found) -join ', ')"
    }
    Invoke-Check 'remote-endpoint' 'an endpoint on another node is reached' "$objects; on overlay: the source VIP" {
        if ($OtherNode -eq '') { Stop-Check 'give -OtherNode' }
        Wait-Until 'both endpoints answer' 60 {
            Assert-Answers (Get-Answers 'client' (Get-ClusterIp 'spread') 80 'http' 30) @('web-far', 'web-near')
            $true
        } | Out-Null
    }
    Invoke-Check 'affinity' 'a client stays with its endpoint (sessionAffinity: ClientIP)' 'the version of HNS: 12.0 is needed' {
        if ((Get-ProxyMode) -eq 'kernelspace' -and -not (Test-Feature (Get-HnsVersion) 'Affinity')) { Stop-Check "HNS $(Get-HnsVersion) cannot" }
        $found = @(Wait-Until 'an endpoint answers' 60 { Get-Answers 'client' (Get-ClusterIp 'sticky') 80 'http' 30 })
        if ($found.Count -ne 1) { throw "answers came from $($found -join ', ')" }
    }
    Invoke-Check 'internal-local' 'internalTrafficPolicy Local stays on this node' $objects {
        if ($OtherNode -eq '') { Stop-Check 'give -OtherNode' }
        Wait-Until 'only the endpoint of this node answers' 60 {
            Assert-Answers (Get-Answers 'client' (Get-ClusterIp 'near') 80 'http' 20) @('web-near')
            $true
        } | Out-Null
    }
    Invoke-Check 'external-local' 'externalTrafficPolicy Local stays on this node, and shows the client' "DSR of HNS; $objects" {
        if ($OtherNode -eq '') { Stop-Check 'give -OtherNode' }
        if ((Get-ProxyMode) -eq 'kernelspace' -and -not (Test-Feature (Get-HnsVersion) 'DSR')) { Stop-Check "HNS $(Get-HnsVersion) has no DSR" }
        $node = Get-NodeIp $NodeName
        $port = Get-NodePort 'outside' 'http'
        Wait-Until 'only the endpoint of this node answers' 60 {
            Assert-Answers (Get-Answers 'far-client' $node $port 'http' 20) @('web-near')
            $true
        } | Out-Null
        if ((Get-ProxyMode) -ne 'kernelspace') { return 'the mode is userspace: endpoints see the node' }
        $seen = @(Get-Answers 'far-client' $node $port 'http' 1 'clientip')[0]
        if ($seen.StartsWith("${node}:")) { throw "the endpoint sees $seen, an address of this node" }
        "the endpoint sees $seen"
    }
    Invoke-Check 'endpoint-change' 'a removed endpoint gets no connection, and a new one gets some' $objects {
        Invoke-Kubectl @('delete', 'pod', 'web-2', '-n', $Namespace, '--wait=true') | Out-Null
        Wait-Until 'only web-1 answers' 60 {
            Assert-Answers (Get-Answers 'client' (Get-ClusterIp 'web') 80 'http' 20) @('web-1')
            $true
        } | Out-Null
        $file = Join-Path $Work 'web-2.yaml'
        [System.IO.File]::WriteAllText($file, (Get-PodYaml 'web-2' 'web' $NodeName))
        Invoke-Kubectl @('apply', '-n', $Namespace, '-f', $file) | Out-Null
        Invoke-Kubectl @('wait', '-n', $Namespace, '--for=condition=Ready', 'pod/web-2', '--timeout=600s') | Out-Null
        Wait-Until 'both answer' 60 {
            Assert-Answers (Get-Answers 'client' (Get-ClusterIp 'web') 80 'http' 30) @('web-1', 'web-2')
            $true
        } | Out-Null
    }
}

function Invoke-HnsChecks {
    Invoke-Check 'render' 'HNS holds the load balancers that fairlead render prints' "fairlead render --proxy-mode=kernelspace; $objects" {
        Assert-Kernelspace
        $file = Join-Path $Work 'cluster.yaml'
        [System.IO.File]::WriteAllText($file, (Invoke-Kubectl @('get', 'services,endpointslices', '-n', $Namespace, '-o', 'yaml')))
        $nodes = Join-Path $Work 'nodes.yaml'
        [System.IO.File]::WriteAllText($nodes, (Invoke-Kubectl @('get', 'nodes', '-o', 'yaml')))
        $arguments = @('render', '--proxy-mode=kernelspace', "--objects=$file", "--objects=$nodes", "--node-name=$NodeName", '--family=ipv4')
        if ($Config -ne '') { $arguments += "--config=$Config" }
        $done = Invoke-Fairlead $arguments
        if ($done.Code -ne 0) { throw $done.Errors }
        # Render knows an HNS that can do everything. Without DSR, policy Local has other endpoints.
        $isExact = Test-Feature (Get-HnsVersion) 'DSR'
        $held = @(Get-LoadBalancers | ForEach-Object { "$($_.Protocol) $($_.Vip):$($_.ExternalPort), $($_.Endpoints) endpoints" })
        $wanted = @(Get-RenderedFrontends $done.Lines)
        if (-not $isExact) {
            $held = @($held | ForEach-Object { $_.Split(',')[0] })
            $wanted = @($wanted | ForEach-Object { $_.Split(',')[0] })
        }
        if ($wanted.Count -lt 6) { throw "render printed only $($wanted.Count) load balancers" }
        $missing = @($wanted | Where-Object { $held -notcontains $_ })
        if ($missing.Count -gt 0) { throw "HNS does not have $($missing -join ', ')" }
        "$($wanted.Count) load balancers"
    }
    Invoke-Check 'addresses' 'in userspace mode, the node has the addresses of Services' "Get-NetIPAddress; $logs" {
        if ((Get-ProxyMode) -ne 'userspace') { Stop-Check 'the mode is kernelspace' }
        foreach ($service in 'web', 'sticky') {
            $vip = Get-ClusterIp $service
            if ($null -eq (Get-NetIPAddress -IPAddress $vip -ErrorAction SilentlyContinue)) { throw "no interface has $vip of Service $service" }
        }
    }
    Invoke-Check 'drift' 'a load balancer that somebody deletes is back within 10 s' $logs {
        Assert-Kernelspace
        $vip = Get-ClusterIp 'web'
        $before = @(Get-LoadBalancersOf $vip | Where-Object { $_.ExternalPort -eq 80 })
        if ($before.Count -ne 1) { throw "HNS has $($before.Count) load balancers for ${vip}:80, there should be one" }
        Invoke-Hns 'DELETE' "/policylists/$($before[0].Id)" | Out-Null
        Wait-Until 'it is back' 10 { @(Get-LoadBalancersOf $vip | Where-Object { $_.ExternalPort -eq 80 }).Count -eq 1 } | Out-Null
        Get-Answers 'client' $vip 80 | Out-Null
    }
    Invoke-Check 'restart' 'after a restart everything in HNS is as it was, with the same ids' $logs {
        Assert-Kernelspace
        $before = @(Get-LoadBalancers | ForEach-Object { $_.Id } | Sort-Object)
        Restart-Fairlead
        Start-Sleep -Seconds 5
        $after = @(Get-LoadBalancers | ForEach-Object { $_.Id } | Sort-Object)
        $gone = @($before | Where-Object { $after -notcontains $_ })
        $new = @($after | Where-Object { $before -notcontains $_ })
        if ($gone.Count + $new.Count -gt 0) { throw "$($gone.Count) of $($before.Count) are gone, and $($new.Count) are new" }
        "$($before.Count) load balancers"
    }
    Invoke-Check 'foreign' 'a load balancer of somebody else outlives a restart' $logs {
        Assert-Kernelspace
        New-ForeignLoadBalancer
        try {
            Restart-Fairlead
            Start-Sleep -Seconds 5
            Assert-Foreign
        }
        finally { Remove-ForeignLoadBalancer }
    }
}

# Lines of JSON documents of load balancers; other lines are comments, endpoints and the like.
function Get-RenderedFrontends {
    param([string[]]$Lines)
    foreach ($line in $Lines) {
        $start = $line.IndexOf('{')
        if ($start -lt 0 -or -not $line.Contains('"PortMappings"')) { continue }
        $document = $line.Substring($start) | ConvertFrom-Json
        $vip = ''
        $vips = @(Get-Value $document 'FrontendVIPs' | Where-Object { $_ })
        if ($vips.Count -gt 0) { $vip = [string]$vips[0] }
        $endpoints = @($document.HostComputeEndpoints).Count
        foreach ($mapping in @($document.PortMappings)) { "$($mapping.Protocol) ${vip}:$($mapping.ExternalPort), $endpoints endpoints" }
    }
}

function Invoke-ServiceChecks {
    Invoke-Check 'service' 'the Windows service says that it can be stopped, also before a shutdown' 'sc.exe query fairlead; the event log' {
        $services = @(Get-FairleadServices)
        if ($services.Count -eq 0) { Stop-Check 'Fairlead is no Windows service here' }
        foreach ($service in $services) {
            $image = (Get-ItemProperty -Path "HKLM:\SYSTEM\CurrentControlSet\Services\$($service.Name)").ImagePath
            # NSSM is the service then, and has its own ways.
            if ($image -notmatch 'fairlead\.js') { continue }
            $said = (Invoke-Program 'sc.exe' @('query', $service.Name)).Text
            if ($said -notmatch 'ACCEPTS_PRESHUTDOWN') { throw "$($service.Name) does not accept a pre-shutdown: $said" }
        }
    }
    Invoke-Check 'stop' 'Fairlead stops in time; in kernelspace mode, Services work on without it' $logs {
        if (-not $Disruptive) { Stop-Check 'add -Disruptive' }
        $mode = Get-ProxyMode
        $vip = Get-ClusterIp 'web'
        $began = Get-Date
        Stop-Fairlead
        $seconds = [int]((Get-Date) - $began).TotalSeconds
        try { if ($mode -eq 'kernelspace') { Get-Answers 'client' $vip 80 | Out-Null } }
        finally { Start-Fairlead }
        if ($seconds -gt 40) { throw "it took $seconds s to stop" }
        "$seconds s"
    }
    Invoke-Check 'cleanup' 'fairlead --cleanup removes what is ours and nothing else; --dry-run only lists it' 'fairlead --cleanup --dry-run' {
        if (-not $Disruptive) { Stop-Check 'add -Disruptive' }
        if (@(Get-FairleadServices).Count -eq 0) { Stop-Check 'Fairlead is no Windows service here' }
        Assert-Kernelspace
        $vip = Get-ClusterIp 'web'
        try {
            New-ForeignLoadBalancer
            Stop-Fairlead
            $dry = Invoke-Fairlead @('--cleanup', '--dry-run', "--state-dir=$StateDir")
            if ($dry.Code -ne 0) { throw $dry.Errors }
            if (-not $dry.Text.Contains($vip)) { throw "--dry-run does not list $vip" }
            if (@(Get-LoadBalancersOf $vip).Count -eq 0) { throw '--dry-run removed something' }
            $done = Invoke-Fairlead @('--cleanup', "--state-dir=$StateDir")
            if ($done.Code -ne 0) { throw $done.Errors }
            if (@(Get-LoadBalancersOf $vip).Count -gt 0) { throw "load balancers of $vip are still there" }
            Assert-Foreign
        }
        finally {
            Start-Fairlead
            Remove-ForeignLoadBalancer
        }
        Wait-Until 'the Services are back' 60 { Get-Answers 'client' $vip 80 } | Out-Null
    }
}

# ---------------------------------------------------------------- all of it

$ready = $true
try {
    Invoke-HostChecks
    Invoke-DaemonChecks
    try {
        if ($NeedsPods) {
            Write-Host "      making pods and Services in the namespace $Namespace ..."
            Initialize-Application
        }
    }
    catch {
        $ready = $false
        Write-Result 'FAIL' 'application' 'the test application starts'
        Write-Host "        because: $($_.Exception.Message)"
        Write-Host "        look at: kubectl get pods,events -n $Namespace; -Image, -NodeName and -OtherNode"
    }
    if ($ready) {
        Invoke-TrafficChecks
        Invoke-HnsChecks
        Invoke-ServiceChecks
    }
}
finally {
    try {
        if ($NeedsPods) { Invoke-Kubectl @('delete', 'namespace', $Namespace, '--ignore-not-found', '--wait=false') | Out-Null }
    }
    catch { Write-Host "The namespace $Namespace could not be removed: $($_.Exception.Message)" }
    Remove-Item -LiteralPath $Work -Recurse -Force -ErrorAction SilentlyContinue
}

Write-Host "$($script:Passed) passed, $($script:Failed) failed, $($script:Skipped) skipped"
if ($script:Failed -gt 0) { exit 1 }
exit 0
