# Transload in a container, for those who want one; `pip install` is all that it does (docs/index.md).
#
#     docker build -t transload .
#     docker run --rm -v "$PWD:/models" transload convert model.tflite --target tosa -o build

FROM python:3.11-slim AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY docs/transload.1 docs/
COPY core core
COPY converters converters
COPY plugins plugins
COPY targets targets
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
ARG EXTRAS=all
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[${EXTRAS}]"
RUN useradd --create-home user
USER user
WORKDIR /models
ENTRYPOINT ["transload"]
