# Three images of one build: docker build --target issuer (or verifier, or engine) .
# The services need Node alone: dist/ has everything that they run.
ARG NODE_VERSION=24.21.0

FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
# The files of a checkout may be private to its user, and the service runs as another.
RUN node build/bundle.js && chmod -R a+rX dist deploy/ready.mjs LICENSE

FROM node:${NODE_VERSION}-bookworm-slim AS service
ENV NODE_ENV=production
WORKDIR /srv/vouchsafe
# The root may be mounted read-only: a service writes into data/ alone.
RUN mkdir conf data && chown node:node data && ln -s /opt/vouchsafe/dist/vouchsafe.cjs /usr/local/bin/vouchsafe
COPY --from=build /build/LICENSE /opt/vouchsafe/
COPY --from=build /build/dist /opt/vouchsafe/dist
COPY --from=build /build/deploy/ready.mjs /opt/vouchsafe/
USER 1000:1000
VOLUME /srv/vouchsafe/data
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/opt/vouchsafe/dist/vouchsafe.cjs"]

FROM service AS issuer
ENV VOUCHSAFE_HOST=0.0.0.0 VOUCHSAFE_PORT=8079
EXPOSE 8079
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["node", "/opt/vouchsafe/ready.mjs", "8079"]
CMD ["issuer"]

FROM service AS verifier
ENV VOUCHSAFE_HOST=0.0.0.0 VOUCHSAFE_PORT=8081
EXPOSE 8081
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["node", "/opt/vouchsafe/ready.mjs", "8081"]
CMD ["verifier"]

FROM service AS engine
ENV VOUCHSAFE_HOST=0.0.0.0 VOUCHSAFE_PORT=8400 VOUCHSAFE_COMPONENT_DIRECTORY=data/components
EXPOSE 8400
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["node", "/opt/vouchsafe/ready.mjs", "8400"]
CMD ["engine"]
