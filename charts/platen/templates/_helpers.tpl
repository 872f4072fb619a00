{{- define "platen.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Names leave room for what a ReplicaSet and its pods add; what is too long for that ends in a hash, so that no two are the same. Takes a
list of the root and the component.
*/}}
{{- define "platen.componentName" -}}
{{- $name := printf "%s-%s" (include "platen.fullname" (index . 0)) (index . 1) -}}
{{- if gt (len $name) 52 }}{{ $name = printf "%s-%s" (trunc 43 $name | trimSuffix "-") (sha256sum $name | trunc 8) }}{{ end -}}
{{- $name -}}
{{- end -}}

{{- define "platen.selectorLabels" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .root.Release.Name | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/component: {{ .component | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "platen.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "platen.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end -}}

{{/* Takes the root and the name of the deployable. */}}
{{- define "platen.image" -}}
{{- $image := (index . 0).Values.image -}}
{{- $name := printf "platen-%s:%s" (index . 1) (default (index . 0).Chart.AppVersion $image.tag) -}}
{{- empty $image.registry | ternary $name (printf "%s/%s" (trimSuffix "/" $image.registry) $name) -}}
{{- end -}}

{{/* A variable by its name and value, where it has one. */}}
{{- define "platen.variable" -}}
{{- if not (or (kindIs "invalid" (index . 1)) (eq (toString (index . 1)) "")) }}
- name: {{ index . 0 }}
  value: {{ toString (index . 1) | quote }}
{{- end -}}
{{- end -}}

{{/* A variable by its name, the name of a Secret, and the key in it. */}}
{{- define "platen.secretVariable" -}}
- name: {{ index . 0 }}
  valueFrom:
    secretKeyRef:
      name: {{ index . 1 }}
      key: {{ index . 2 }}
{{- end -}}

{{/* A file by the variable that names it, the name of the Secret, the key in it, and its folder below /etc/platen. None without a Secret. */}}
{{- define "platen.file" -}}
{{- if index . 1 }}
- { variable: {{ index . 0 }}, secret: {{ index . 1 }}, key: {{ index . 2 }}, path: {{ index . 3 }}/{{ index . 2 }} }
{{- end }}
{{- end -}}

{{/* The files of TLS: those of a CA and of a client certificate. Takes how their variables begin, the values and the folder. */}}
{{- define "platen.tlsFiles" -}}
{{- $name := index . 0 -}}{{- $folder := index . 2 -}}
{{- with index . 1 -}}
{{- include "platen.file" (list (printf "%s_CA_FILE" $name) .caSecretName "ca.crt" $folder) }}
{{- include "platen.file" (list (printf "%s_CERT_FILE" $name) .certSecretName "tls.crt" $folder) }}
{{- include "platen.file" (list (printf "%s_KEY_FILE" $name) .certSecretName "tls.key" $folder) }}
{{- end -}}
{{- end -}}

{{/*
The Secrets of a Deployment, as a list of files. Processes read files again when they change, and variables only at their start. Takes what
`platen.deployment` takes.
*/}}
{{- define "platen.files" -}}
{{- $values := .root.Values -}}
{{- range $variable, $key := .keys }}{{ include "platen.file" (list (printf "%s_FILE" $variable) $values.secretName $key "keys") }}{{ end -}}
{{- include "platen.file" (list "PLATEN_REDIS_URL_FILE" $values.redis.secretName "url" "redis") }}
{{- include "platen.tlsFiles" (list "PLATEN_REDIS" $values.redis "redis") }}
{{- include "platen.file" (list "PLATEN_S3_ACCESS_KEY_ID_FILE" $values.s3.secretName "accessKeyId" "s3") }}
{{- include "platen.file" (list "PLATEN_S3_SECRET_ACCESS_KEY_FILE" $values.s3.secretName "secretAccessKey" "s3") }}
{{- include "platen.tlsFiles" (list "PLATEN_S3" $values.s3 "s3") }}
{{- if .hasKafka }}
{{- with $values.kafka }}
{{- if .sasl }}
{{- include "platen.file" (list "PLATEN_KAFKA_USERNAME_FILE" .secretName "username" "kafka") }}
{{- include "platen.file" (list "PLATEN_KAFKA_PASSWORD_FILE" .secretName "password" "kafka") }}
{{- end }}
{{- include "platen.tlsFiles" (list "PLATEN_KAFKA" . "kafka") }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "platen.processVariables" -}}
{{- include "platen.variable" (list "PLATEN_LOG_LEVEL" .Values.logLevel) }}
{{- include "platen.variable" (list "PLATEN_INSTALLATION" .Values.installation) }}
{{- with .Values.s3 }}
{{- include "platen.variable" (list "PLATEN_S3_BUCKET" .bucket) }}
{{- include "platen.variable" (list "PLATEN_S3_ENDPOINT" .endpoint) }}
{{- include "platen.variable" (list "PLATEN_S3_PUBLIC_ENDPOINT" .publicEndpoint) }}
{{- include "platen.variable" (list "PLATEN_S3_REGION" .region) }}
{{- include "platen.variable" (list "PLATEN_S3_PREFIX" .prefix) }}
{{- include "platen.variable" (list "PLATEN_S3_PATH_STYLE" (.pathStyle | ternary "true" "")) }}
{{- end }}
{{- end -}}

{{- define "platen.kafkaVariables" -}}
{{- with .Values.kafka }}
{{- include "platen.variable" (list "PLATEN_KAFKA_BROKERS" (join "," .brokers)) }}
{{- include "platen.variable" (list "PLATEN_KAFKA_TOPIC_PREFIX" .topicPrefix) }}
{{- include "platen.variable" (list "PLATEN_KAFKA_PARTITIONS" .partitions) }}
{{- include "platen.variable" (list "PLATEN_KAFKA_REPLICATION" .replication) }}
{{- include "platen.variable" (list "PLATEN_KAFKA_TLS" (.tls | ternary "true" "")) }}
{{- include "platen.variable" (list "PLATEN_KAFKA_SASL" .sasl) }}
{{- if eq .sasl "oauthbearer" }}
{{- include "platen.variable" (list "PLATEN_KAFKA_OAUTH_TOKEN_URL" (required "kafka.oauth.tokenUrl is needed with the kafka.sasl oauthbearer" .oauth.tokenUrl)) }}
{{- include "platen.variable" (list "PLATEN_KAFKA_OAUTH_SCOPE" .oauth.scope) }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "platen.webhookPolicyVariables" -}}
{{- include "platen.variable" (list "PLATEN_WEBHOOK_ALLOW_HTTP" (.Values.webhooks.allowHttp | ternary "true" "")) }}
{{- include "platen.variable" (list "PLATEN_WEBHOOK_ALLOW_CIDRS" (join "," .Values.webhooks.allowCidrs)) }}
{{- end -}}

{{/*
A Deployment. Takes `root`, `component` (what its pods are called), `deployable` (its image and folder), `own` (its values), `values` (what
those are called), `env` (its own variables, as a text), `keys` (the keys of `secretName` that it needs, by their variables), `grace`, and of those that have them `replicas`, `ports`, `preStopSeconds`, `serviceAccountName`, `hasToken`,
`hasKafka`, `seccompProfile` and `tmpSize`. Without `replicas` something scales it.
*/}}
{{- define "platen.deployment" -}}
{{- $files := include "platen.files" . | fromYamlArray -}}
{{- $env := include "platen.environment" . -}}
{{- $names := dict -}}
{{- range fromYamlArray $env }}
{{- if hasKey $names .name }}{{ fail (printf "%s.env: the variable %s is set by the chart, or twice" $.values .name) }}{{ end }}
{{- $_ := set $names .name true }}
{{- end -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "platen.componentName" (list .root .component) }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "platen.labels" . | nindent 4 }}
spec:
  {{- if hasKey . "replicas" }}
  replicas: {{ .replicas }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "platen.selectorLabels" . | nindent 6 }}
  strategy:
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  template:
    metadata:
      labels:
        {{- include "platen.labels" . | nindent 8 }}
      {{- with .own.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ .serviceAccountName | default (include "platen.componentName" (list .root .deployable)) }}
      automountServiceAccountToken: {{ .hasToken | default false }}
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ .grace }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        seccompProfile:
          {{- toYaml (.seccompProfile | default (dict "type" "RuntimeDefault")) | nindent 10 }}
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      {{- with .own.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .own.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "platen.selectorLabels" $ | nindent 14 }}
        {{- end }}
      containers:
        - name: {{ .deployable }}
          image: {{ include "platen.image" (list .root .deployable) }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          env:
            {{- $env | nindent 12 }}
          ports:
            {{- range $name, $port := .ports | default dict }}
            - name: {{ $name }}
              containerPort: {{ $port }}
            {{- end }}
            - name: metrics
              containerPort: 9090
          startupProbe:
            httpGet: { path: /livez, port: metrics }
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: { path: /livez, port: metrics }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: { path: /readyz, port: metrics }
            periodSeconds: 3
            timeoutSeconds: 3
          {{- with .preStopSeconds }}
          lifecycle:
            preStop:
              sleep: { seconds: {{ . }} }
          {{- end }}
          resources:
            {{- toYaml .own.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          volumeMounts:
            - name: tmp
              mountPath: /tmp
            - name: secrets
              mountPath: /etc/platen
              readOnly: true
      volumes:
        - name: tmp
          emptyDir:
            sizeLimit: {{ .tmpSize | default "64Mi" }}
        # One volume for all Secrets, and no subPath: the kubelet brings changes to it.
        - name: secrets
          projected:
            defaultMode: 0440
            sources:
              {{- range $files }}
              - secret:
                  name: {{ .secret }}
                  items: [{ key: {{ .key }}, path: {{ .path }} }]
              {{- end }}
{{- end -}}

{{/* The variables of one deployable; those of its values come last. */}}
{{- define "platen.environment" -}}
{{- include "platen.processVariables" .root | trim }}
{{- if .hasKafka }}
{{ include "platen.kafkaVariables" .root | trim }}
{{- end }}
{{ trim .env }}
{{- range include "platen.files" . | fromYamlArray }}
- name: {{ .variable }}
  value: /etc/platen/{{ .path }}
{{- end }}
{{- range .own.env }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- end -}}

{{- define "platen.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name | default (include "platen.componentName" (list .root .component)) }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "platen.labels" . | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end -}}

{{- define "platen.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "platen.componentName" (list .root .component) }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "platen.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "platen.selectorLabels" . | nindent 6 }}
{{- end -}}

{{/* A renderer by its name, as JSON: its values over the defaults. */}}
{{- define "platen.renderer" -}}
{{- $root := index . 0 -}}
{{- mergeOverwrite (deepCopy $root.Values.rendererDefaults) (deepCopy (index $root.Values.renderers (index . 1))) | toJson -}}
{{- end -}}

{{/* The engines that there are renderers of. */}}
{{- define "platen.engines" -}}
{{- $engines := list -}}
{{- range .Values.renderers }}{{ $engines = append $engines .engine }}{{ end -}}
{{- $engines | uniq | sortAlpha | join "," -}}
{{- end -}}

{{/* How many partitions a lane has, and so how many renderers may serve it. */}}
{{- define "platen.partitions" -}}
{{- $root := index . 0 -}}
{{- $root.Values.kafka.partitions | default (eq (index . 1) "sync" | ternary 12 24) -}}
{{- end -}}

{{- define "platen.apiVariables" -}}
{{- include "platen.variable" (list "PLATEN_BRAND" .Values.brand) }}
{{- include "platen.variable" (list "PLATEN_ENGINES" (include "platen.engines" .)) }}
{{- include "platen.variable" (list "PLATEN_TRUSTED_PROXIES" (join "," .Values.api.trustedProxies)) }}
{{- include "platen.webhookPolicyVariables" . }}
{{- end -}}

{{- define "platen.eventsVariables" -}}
{{- include "platen.variable" (list "PLATEN_BRAND" .Values.brand) }}
{{- include "platen.webhookPolicyVariables" . }}
{{- end -}}

{{- define "platen.rendererVariables" -}}
{{- $renderer := .renderer -}}
{{- include "platen.variable" (list "PLATEN_ENGINES" $renderer.engine) }}
{{- include "platen.variable" (list "PLATEN_LANES" (join "," $renderer.lanes)) }}
{{- include "platen.variable" (list "PLATEN_RENDER_SLOTS" $renderer.concurrency) }}
{{- include "platen.variable" (list "PLATEN_DRAIN_SECONDS" $renderer.drainSeconds) }}
{{- include "platen.variable" (list "PLATEN_EGRESS_ALLOW_CIDRS" (join "," .root.Values.egress.allowCidrs)) }}
{{- include "platen.variable" (list "PLATEN_TENANT_METRICS" (join "," .root.Values.monitoring.tenants)) }}
{{- end -}}

{{- define "platen.scalingBehavior" -}}
scaleUp:
  stabilizationWindowSeconds: 0
  selectPolicy: Max
  policies:
    - { type: Percent, value: 100, periodSeconds: 15 }
    - { type: Pods, value: 4, periodSeconds: 15 }
scaleDown:
  stabilizationWindowSeconds: 180
  policies:
    - { type: Percent, value: 25, periodSeconds: 60 }
{{- end -}}

{{- define "platen.operatorVariables" -}}
{{- include "platen.variable" (list "PLATEN_BRAND" .Values.brand) }}
{{- end -}}

{{- define "platen.egressRule" -}}
- ports:
    {{- range .ports }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
  {{- with .peers }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
